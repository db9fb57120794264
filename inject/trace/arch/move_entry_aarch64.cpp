#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "inject/trace/arch/jump.h"
#include "inject/trace/arch/layout.h"
#include "inject/trace/arch/move_entry.h"
#include "symbols/code/arch/instructions_aarch64.h"

// The jump is one instruction, so one instruction is moved. If the function begins with a mark for
// indirect branches (bti c or paciasp), the mark stays and the instruction after it is moved: a
// processor that checks for marks would fault at a jump in the mark's place.
//
// paciasp and pacibsp also sign the return address with the stack pointer. The hook undoes that
// (MovedEntry::undo), and the moved code does it again, because the recorder may call that code
// with a return address and a stack pointer of its own. Processors without signatures ignore all of
// these instructions.
//
// Instructions of aarch64 whose effect depends on their address: adr, adrp; literal loads; b, bl,
// b.cond, cbz, cbnz, tbz, tbnz; and some extensions, which are refused as unknown.

namespace heapattach::trace {

namespace {

using heapattach::aarch64::direct_jump;
using heapattach::aarch64::is_indirect_call;
using heapattach::aarch64::is_landing_mark;
using heapattach::aarch64::kInstructionBytes;
using heapattach::aarch64::page_of;
using heapattach::aarch64::with_sign;
using heapattach::aarch64::word_at;

constexpr std::uint64_t kPageMask = 0xfff;  // for adrp, whatever the size of the kernel's pages

// An instruction that signs the return address, and the instruction that undoes it.
struct Signing {
  std::uint32_t signs;
  std::uint32_t undoes;
};
constexpr Signing kSignings[] = {{0xd503233f, 0xd50323bf},   // paciasp, autiasp
                                 {0xd503237f, 0xd50323ff}};  // pacibsp, autibsp

Error at_instruction(RemoteAddr at, std::string_view why) {
  return {ErrorKind::Impossible, fmt::format("the instruction at {} {}", at, why)};
}

std::uint64_t plus(std::uint64_t at, std::int64_t distance) {
  return at + static_cast<std::uint64_t>(distance);
}

// The form of a conditional branch, and how many bits its distance has.
struct Condition {
  std::uint32_t mask;
  std::uint32_t value;
  unsigned bits;
};
constexpr unsigned kDistanceAt = 5;
constexpr Condition kConditions[] = {{0xff000000, 0x54000000, 19},   // b.cond, bc.cond
                                     {0x7e000000, 0x34000000, 19},   // cbz, cbnz
                                     {0x7e000000, 0x36000000, 14}};  // tbz, tbnz

const Condition* condition_of(std::uint32_t word) {
  const auto* const found = std::find_if(
      std::begin(kConditions), std::end(kConditions),
      [word](const Condition& condition) { return (word & condition.mask) == condition.value; });
  return found == std::end(kConditions) ? nullptr : found;
}

// The distance of a direct branch; nothing for a call or any other instruction.
std::optional<std::int64_t> distance_of(std::uint32_t word) {
  if (const auto always = direct_jump(word, false)) return always;
  const Condition* const condition = condition_of(word);
  if (condition == nullptr) return std::nullopt;
  return with_sign(word >> kDistanceAt, condition->bits) * std::int64_t{kInstructionBytes};
}

// Whether the instruction is a hint, a barrier, mrs or msr.
bool is_system(std::uint32_t word) {
  return (word & 0xffc00000U) == 0xd5000000U;
}

// For a literal load into a general register (ldr w, ldr x, ldrsw), returns the load of the same
// kind from an address in a register. Nothing for any other instruction.
std::optional<std::uint32_t> load_from_register(std::uint32_t word) {
  switch (word & 0xff000000U) {
    case 0x18000000U: return 0xb9400000U;
    case 0x58000000U: return 0xf9400000U;
    case 0x98000000U: return 0xb9800000U;
    default: return std::nullopt;
  }
}

bool is_literal(std::uint32_t word) {
  return (word & 0x3b000000U) == 0x18000000U;
}

// Whether an instruction of another kind does the same at any address, as data processing, loads
// and stores do. False for unknown ones.
bool is_independent(std::uint32_t word) {
  switch (word >> 25U & 15U) {
    case 8:  // immediate operands; adr is handled before; of 1 001110 and 1 00111, only extr
    case 9: return (word & 0x1f800000U) != 0x13800000U || (word & 0x7fa00000U) == 0x13800000U;
    case 4:
    case 6:
    case 12:
    case 14: return !is_literal(word);
    case 5:
    case 13:  // register operands; not pacnbiasppc and its kind
      return (word & 0xffff8000U) != 0xdac18000U || (word & 0x1fU) != 30U;
    case 7:
    case 15: return true;  // vectors and floating point
    default: return false;
  }
}

class Aarch64Mover {
 public:
  Aarch64Mover(RemoteAddr entry, RemoteAddr to) : entry_(entry), to_(to) {}

  Result<MovedEntry> run(std::span<const std::byte> function) {
    keep_mark(word_at(function, 0));
    const std::uint32_t word = word_at(function, moved_.kept / kInstructionBytes);
    moved_.bytes = kInstructionBytes;
    at_ = entry_ + moved_.kept;
    if (function.size() < moved_.kept + kInstructionBytes) {
      return at_instruction(at_, "is unknown, or beyond the function");
    }
    HA_TRY(check_jumps(function));
    moved_.steps.emplace_back(moved_.kept, moved_.code.size());
    HA_TRY(move(word));
    if (moved_.code.size() > kTrampolineBytes) return at_instruction(at_, "cannot be moved");
    return std::move(moved_);
  }

 private:
  void put(std::uint32_t word) {
    const auto bytes = std::as_bytes(std::span(&word, 1));
    moved_.code.insert(moved_.code.end(), bytes.begin(), bytes.end());
  }

  Result<void> put_jump(std::uint64_t goal) {
    const std::uint64_t from = (to_ + moved_.code.size()).value;
    if (!on_aarch64::can_jump(from, goal)) {
      return at_instruction(at_, "is out of reach of its new place");
    }
    const auto code = on_aarch64::jump(from, goal);
    moved_.code.insert(moved_.code.end(), code.begin(), code.end());
    return {};
  }
  Result<void> put_way_back() { return put_jump((at_ + kInstructionBytes).value); }

  void keep_mark(std::uint32_t word) {
    if (!is_landing_mark(word)) return;
    moved_.kept = kInstructionBytes;
    for (const Signing& signing : kSignings) {
      if (signing.signs != word) continue;
      moved_.steps.emplace_back(0, 0);
      put(word);
      const auto undo = std::as_bytes(std::span(&signing.undoes, 1));
      moved_.undo.assign(undo.begin(), undo.end());
    }
  }

  // After a mark, a jump back to the second instruction would find the return address in any
  // state. A jump back to the first instruction of a function is another call of it.
  Result<void> check_jumps(std::span<const std::byte> function) {
    if (moved_.kept == 0) return {};
    for (std::size_t i = 0; i < function.size() / kInstructionBytes; ++i) {
      const auto distance = distance_of(word_at(function, i));
      const RemoteAddr from = entry_ + i * kInstructionBytes;
      if (distance && plus(from.value, *distance) == at_.value) {
        return at_instruction(from, "jumps between the first ones of its function");
      }
    }
    return {};
  }

  Result<void> move(std::uint32_t word) {
    if (direct_jump(word, true) || is_indirect_call(word)) return at_instruction(at_, "is a call");
    if (const auto distance = direct_jump(word, false)) {
      return put_jump(plus(at_.value, *distance));
    }
    if (const Condition* const condition = condition_of(word)) return move_branch(word, *condition);
    if (is_address(word)) return move_address(word);
    if (is_literal(word)) return move_load(word);
    const bool is_branch = (word >> 26U & 7U) == 5;  // a branch or an exception
    if (is_branch && !is_system(word)) {
      return at_instruction(at_, "ends the function, which is too short for a jump");
    }
    if (!is_branch && !is_independent(word)) {
      return at_instruction(at_, "is unknown, or beyond the function");
    }
    put(word);
    return put_way_back();
  }

  // Makes a short conditional branch over the jump back, to a jump to the original goal.
  Result<void> move_branch(std::uint32_t word, const Condition& condition) {
    constexpr std::uint32_t kOver = 2;  // instructions
    const std::uint32_t mask = ((1U << condition.bits) - 1) << kDistanceAt;
    put((word & ~mask) | kOver << kDistanceAt);
    HA_TRY(put_way_back());
    return put_jump(plus(at_.value, *distance_of(word)));
  }

  static bool is_address(std::uint32_t word) { return (word & 0x1f000000U) == 0x10000000U; }

  // Moves adr or adrp.
  Result<void> move_address(std::uint32_t word) {
    const auto page = page_of(word, at_.value);
    const std::uint64_t number = (word >> 5U & 0x7ffffU) << 2U | (word >> 29U & 3U);
    const std::uint64_t address = page ? *page : plus(at_.value, with_sign(number, 21));
    HA_TRY(put_address(word & 31U, address, !page));
    return put_way_back();
  }

  // Writes adrp, and with `is_within` also add, for an address within a page.
  Result<void> put_address(unsigned reg, std::uint64_t address, bool is_within) {
    constexpr unsigned kBits = 21;
    const std::uint64_t here = (to_ + moved_.code.size()).value & ~kPageMask;
    const auto pages = static_cast<std::int64_t>((address & ~kPageMask) - here) >> 12U;
    if (with_sign(static_cast<std::uint64_t>(pages), kBits) != pages) {
      return at_instruction(at_, "is out of reach of its new place");
    }
    const auto number = static_cast<std::uint32_t>(pages) & ((1U << kBits) - 1);
    put(0x90000000U | (number & 3U) << 29U | number >> 2U << 5U | reg);
    if (!is_within) return {};
    const auto rest = static_cast<std::uint32_t>(address & kPageMask);
    put(0x91000000U | rest << 10U | reg << 5U | reg);
    return {};
  }

  // Moves a literal load. The register to be loaded takes the address first. Loads into vector
  // registers and prefetches have no such register, and are refused.
  Result<void> move_load(std::uint32_t word) {
    const auto load = load_from_register(word);
    const unsigned reg = word & 31U;
    constexpr unsigned kZero = 31;
    if (!load || reg == kZero) return at_instruction(at_, "cannot be moved");
    const std::int64_t distance = with_sign(word >> 5U, 19) * std::int64_t{kInstructionBytes};
    HA_TRY(put_address(reg, plus(at_.value, distance), true));
    put(*load | reg << 5U | reg);
    return put_way_back();
  }

  RemoteAddr entry_;
  RemoteAddr to_;
  RemoteAddr at_;  // the address of the instruction that the jump replaces
  MovedEntry moved_;
};

}  // namespace

Result<MovedEntry> move_entry_of_aarch64(std::span<const std::byte> function,
                                         RemoteAddr entry,
                                         RemoteAddr to) {
  return Aarch64Mover(entry, to).run(function);
}

}  // namespace heapattach::trace
