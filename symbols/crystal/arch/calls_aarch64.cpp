// The runtime's wrappers of allocators have one shape:
//
//     str x30, [sp, #-16]!; [bl UInt64.new;] bl <allocator>; ldr x30, [sp], #16; ret
//     b <allocator>                                                (in a --release build)

#include <elf.h>

#include "symbols/code/arch/instructions_aarch64.h"
#include "symbols/crystal/arch/processors.h"

namespace heapattach::crystal::aarch64 {

namespace {

using namespace heapattach::aarch64;  // NOLINT(google-build-using-namespace): its instructions

std::uint32_t word_before(const Code& code, std::size_t at, std::size_t instructions) {
  const std::size_t index = at / kInstructionBytes;
  return index < instructions ? 0 : word_at(code.bytes, index - instructions);
}

std::uint32_t word_after(const Code& code, std::size_t at, std::size_t instructions) {
  return word_at(code.bytes, at / kInstructionBytes + instructions);
}

// The number that mov (movz) puts into this register.
std::optional<std::uint32_t> number_in(std::uint32_t word, unsigned reg) {
  if ((word & 0x7fe0001fU) != (0x52800000U | reg)) return std::nullopt;
  return word >> 5U & 0xffffU;
}

bool adds_two(std::uint32_t word) {  // add x0, register, register
  return (word & 0xffe0fc1fU) == 0x8b000000U;
}

bool begins_frame(std::uint32_t word) {
  return word == 0xf81f0ffeU;  // str x30, [sp, #-16]!
}

bool ends_frame(const Code& code, std::size_t at) {
  return word_after(code, at, 1) == 0xf84107feU && word_after(code, at, 2) == 0xd65f03c0U;
}

// Where a direct jump at position `at` leads, or a call.
std::optional<std::uint64_t> goal(const Code& code, std::size_t at, bool is_call) {
  const auto distance = direct_jump(word_after(code, at, 0), is_call);
  if (!distance) return std::nullopt;
  return (code.start + at).value + static_cast<std::uint64_t>(*distance);
}

void each_instruction(const Code& code, const std::function<void(std::size_t)>& found) {
  for (std::size_t at = 0; at + kInstructionBytes <= code.bytes.size(); at += kInstructionBytes) {
    found(at);
  }
}

void each_call(const Code& code, const std::function<void(std::size_t)>& found) {
  each_instruction(code, [&](std::size_t at) {
    if (direct_jump(word_after(code, at, 0), true)) found(at);
  });
}

std::uint64_t target_of_call(const Code& code, std::size_t at) {
  return goal(code, at, true).value_or(0);
}

std::size_t begin_of_size(const Code& code, std::size_t at) {
  constexpr std::size_t kNear = 4;
  if (adds_two(word_before(code, at, 1))) return at - 3 * kInstructionBytes;
  for (std::size_t back = 1; back <= kNear; ++back) {
    if (number_in(word_before(code, at, back), 0)) return at - back * kInstructionBytes;
  }
  return at;
}

// A store of one register or two where another points to, with no distance.
bool stores_constant(std::span<const std::byte> body) {
  for (std::size_t i = 0; i < body.size() / kInstructionBytes; ++i) {
    const std::uint32_t word = word_at(body, i);
    if ((word >> 5U & 31U) == kStackPointer) continue;
    const bool is_one = (word & 0xbffffc00U) == 0xb9000000U;
    const bool is_pair = (word & 0x7fff8000U) == 0x29000000U;
    const bool is_vector = (word & 0xfffffc00U) == 0x3d800000U;
    if (is_one || is_pair || is_vector) return true;
  }
  return false;
}

std::optional<std::uint32_t> first_constant(std::span<const std::byte> body) {
  constexpr std::size_t kBeginning = 6;
  for (std::size_t i = 0; i < kBeginning && !direct_jump(word_at(body, i), true); ++i) {
    if (const auto number = number_in(word_at(body, i), 0)) return number;
  }
  return std::nullopt;
}

// Stubs are "adrp x16, …; ldr x17, [x16, …]; add x16, …; br x17", with or without bti before.
void add_stubs(const Code& code, const AllocatorEntries& slots, AllocatorEntries& entries) {
  each_instruction(code, [&](std::size_t at) {
    const std::uint32_t first = word_after(code, at, 0);
    const std::uint32_t second = word_after(code, at, 1);
    const auto page = page_of(first, (code.start + at).value);
    if (!page || (first & 31U) != 16 || (second & 0xffc003ffU) != 0xf9400211U) return;
    const auto slot = slots.find(*page + std::uint64_t{second >> 10U & 0xfffU} * 8);
    if (slot == slots.end()) return;
    entries[(code.start + at).value] = slot->second;
    if (is_landing_mark(word_before(code, at, 1))) {
      entries[(code.start + at - kInstructionBytes).value] = slot->second;
    }
  });
}

bool add_wrappers(const Code& code, AllocatorEntries& entries) {
  const std::size_t before = entries.size();
  each_instruction(code, [&](std::size_t at) {
    const auto called = goal(code, at, true);
    const auto to = called ? called : goal(code, at, false);
    const auto allocator = to ? entries.find(*to) : entries.end();
    if (allocator == entries.end()) return;
    const RemoteAddr here = code.start + at;
    if (!called) {
      entries.emplace(here.value, allocator->second);
      return;
    }
    if (!ends_frame(code, at)) return;
    if (begins_frame(word_before(code, at, 1))) {
      entries.emplace((here - kInstructionBytes).value, allocator->second);
    } else if (direct_jump(word_before(code, at, 1), true) &&
               begins_frame(word_before(code, at, 2))) {
      entries.emplace((here - 2 * kInstructionBytes).value, allocator->second);
    }
  });
  return entries.size() > before;
}

}  // namespace

constinit const Processor kProcessor{.machine = EM_AARCH64,
                                     .find_allocation_sites = find_allocation_sites,
                                     .each_call = each_call,
                                     .target_of_call = target_of_call,
                                     .begin_of_size = begin_of_size,
                                     .stores_constant = stores_constant,
                                     .first_constant = first_constant,
                                     .add_stubs = add_stubs,
                                     .add_wrappers = add_wrappers};

}  // namespace heapattach::crystal::aarch64
