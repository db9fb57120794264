#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "inject/trace/arch/layout.h"
#include "inject/trace/arch/move_entry.h"

namespace heapattach::trace {

namespace {

constexpr std::size_t kNearJumpBytes = 5;
constexpr std::uint8_t kNearJump = 0xe9;
constexpr std::uint8_t kTwoByteOpcode = 0x0f;
constexpr std::uint8_t kNearConditional = 0x80;  // plus the condition, after 0x0f
constexpr std::uint8_t kShortConditional = 0x70;
constexpr std::uint8_t kConditionMask = 0x0f;

Error refusal(RemoteAddr at, std::string_view why) {
  return {ErrorKind::Impossible, fmt::format("the instruction at {} {}", at, why)};
}

bool is_in_group(const cs_insn& instruction, unsigned group) {
  const auto& groups = instruction.detail->groups;
  return std::find(groups, groups + instruction.detail->groups_count, group) !=
         groups + instruction.detail->groups_count;
}

// The destination of a direct jump or call.
std::optional<std::uint64_t> goal_of(const cs_insn& instruction) {
  const cs_x86& x86 = instruction.detail->x86;
  const bool is_branch = is_in_group(instruction, CS_GRP_JUMP) ||
                         is_in_group(instruction, CS_GRP_CALL) ||
                         is_in_group(instruction, CS_GRP_BRANCH_RELATIVE);
  if (!is_branch || x86.op_count != 1 || x86.operands[0].type != X86_OP_IMM) return std::nullopt;
  return static_cast<std::uint64_t>(x86.operands[0].imm);
}

bool is_relative_to_itself(const cs_insn& instruction) {
  const cs_x86& x86 = instruction.detail->x86;
  return std::any_of(x86.operands, x86.operands + x86.op_count, [](const cs_x86_op& operand) {
    return operand.type == X86_OP_MEM &&
           (operand.mem.base == X86_REG_RIP || operand.mem.base == X86_REG_EIP);
  });
}

class Mover {
 public:
  Mover(RemoteAddr entry, RemoteAddr to) : entry_(entry), to_(to) {}

  // Returns whether an instruction follows.
  Result<bool> add(const cs_insn& instruction) {
    moved_.steps.emplace_back(moved_.bytes, moved_.code.size());
    const RemoteAddr at = entry_ + moved_.bytes;
    moved_.bytes += instruction.size;
    if (is_in_group(instruction, CS_GRP_CALL)) return refusal(at, "is a call");
    const bool is_end =
        is_in_group(instruction, CS_GRP_RET) || is_in_group(instruction, CS_GRP_IRET) ||
        is_in_group(instruction, CS_GRP_INT) || is_in_group(instruction, CS_GRP_PRIVILEGE);
    if (is_end) return refusal(at, "ends the function, which is too short for a jump");
    if (is_in_group(instruction, CS_GRP_JUMP)) return add_jump(instruction, at);
    if (goal_of(instruction)) return refusal(at, "cannot be moved");
    const std::size_t begin = moved_.code.size();
    const auto* const bytes = reinterpret_cast<const std::byte*>(instruction.bytes);
    moved_.code.insert(moved_.code.end(), bytes, bytes + instruction.size);
    if (is_relative_to_itself(instruction)) HA_TRY(correct(instruction, at, begin));
    return true;
  }

  Result<MovedEntry> finish(bool goes_on) {
    if (moved_.bytes < kNearJumpBytes) {
      return refusal(entry_, "and those after it are too few bytes for a jump");
    }
    if (goes_on) HA_TRY(put_jump({kNearJump}, (entry_ + moved_.bytes).value));
    if (moved_.bytes > kMostMoved || moved_.code.size() > kTrampolineBytes) {
      return refusal(entry_, "and those after it are too many bytes");
    }
    const auto is_inside = [this](std::uint64_t goal) {
      return goal > entry_.value && goal < (entry_ + moved_.bytes).value;
    };
    if (std::any_of(goals_.begin(), goals_.end(), is_inside)) {
      return refusal(entry_, "and those after it jump among themselves");
    }
    return std::move(moved_);
  }
  [[nodiscard]] std::size_t bytes() const { return moved_.bytes; }

 private:
  Result<bool> add_jump(const cs_insn& instruction, RemoteAddr at) {
    const auto goal = goal_of(instruction);
    if (!goal) return refusal(at, "is an indirect jump");
    goals_.push_back(*goal);
    if (instruction.id == X86_INS_JMP) {
      HA_TRY(put_jump({kNearJump}, *goal));
      return false;
    }
    const auto& opcode = instruction.detail->x86.opcode;
    const bool is_short = (opcode[0] & ~kConditionMask) == kShortConditional;
    const bool is_near =
        opcode[0] == kTwoByteOpcode && (opcode[1] & ~kConditionMask) == kNearConditional;
    if (!is_short && !is_near) return refusal(at, "cannot be moved");
    const auto condition =
        static_cast<std::uint8_t>((is_short ? opcode[0] : opcode[1]) & kConditionMask);
    HA_TRY(
        put_jump({kTwoByteOpcode, static_cast<std::uint8_t>(kNearConditional | condition)}, *goal));
    return true;
  }

  Result<void> put_jump(std::initializer_list<std::uint8_t> opcode, std::uint64_t goal) {
    for (const std::uint8_t byte : opcode) moved_.code.push_back(std::byte{byte});
    const std::uint64_t next = to_.value + moved_.code.size() + sizeof(std::int32_t);
    const auto distance = static_cast<std::int64_t>(goal - next);
    const auto bytes = static_cast<std::int32_t>(distance);
    if (bytes != distance) return refusal(entry_, "is out of reach of its new place");
    const auto raw = std::as_bytes(std::span(&bytes, 1));
    moved_.code.insert(moved_.code.end(), raw.begin(), raw.end());
    return {};
  }

  // Corrects an address that is relative to the instruction, whose new place is `begin`.
  Result<void> correct(const cs_insn& instruction, RemoteAddr at, std::size_t begin) {
    const cs_x86_encoding& encoding = instruction.detail->x86.encoding;
    std::int32_t offset = 0;
    if (encoding.disp_size != sizeof offset || encoding.disp_offset == 0) {
      return refusal(at, "has an address of an unknown form");
    }
    std::byte* const where = moved_.code.data() + begin + encoding.disp_offset;
    std::memcpy(&offset, where, sizeof offset);
    const std::int64_t corrected =
        offset + static_cast<std::int64_t>(at.value - (to_ + begin).value);
    const auto bytes = static_cast<std::int32_t>(corrected);
    if (bytes != corrected) return refusal(at, "is out of reach of its new place");
    std::memcpy(where, &bytes, sizeof bytes);
    return {};
  }

  RemoteAddr entry_;
  RemoteAddr to_;
  MovedEntry moved_;
  std::vector<std::uint64_t> goals_;  // the goals of the moved jumps
};

}  // namespace

Result<MovedEntry> move_entry_of_x86_64(const Disassembler& disassembler,
                                        std::span<const std::byte> function,
                                        RemoteAddr entry,
                                        RemoteAddr to) {
  Mover mover(entry, to);
  bool goes_on = true;
  while (goes_on && mover.bytes() < kNearJumpBytes) {
    const std::size_t done = mover.bytes();
    const cs_insn* const instruction =
        done < function.size() ? disassembler.decode(function.subspan(done), entry + done)
                               : nullptr;
    if (instruction == nullptr) {
      return refusal(entry + done, "is unknown, or beyond the function");
    }
    goes_on = HA_TRY(mover.add(*instruction));
  }
  MovedEntry moved = HA_TRY(mover.finish(goes_on));
  // Look for code that jumps back into the moved instructions.
  for (std::size_t at = moved.bytes; at < function.size();) {
    const cs_insn* const instruction = disassembler.decode(function.subspan(at), entry + at);
    if (instruction == nullptr) {
      ++at;
      continue;
    }
    const auto goal = goal_of(*instruction);
    if (goal && *goal > entry.value && *goal < (entry + moved.bytes).value) {
      return refusal(entry + at, "jumps between the first ones of its function");
    }
    at += instruction->size;
  }
  return moved;
}

}  // namespace heapattach::trace
