#include "symbols/unwind/prologues.h"

#include <algorithm>
#include <optional>

#include "attach/base/word.h"
#include "symbols/code/disassembler.h"
#include "symbols/unwind/machine_state.h"

namespace heapattach::unwind {

namespace {

constexpr std::uint64_t kMostBytes = 128;

// The MachineState number of a register that functions must preserve.
std::optional<std::size_t> preserved(x86_reg reg) {
  switch (reg) {
    case X86_REG_RBX: return 3;
    case X86_REG_RBP: return MachineState::kFramePointer;
    case X86_REG_R12: return 12;
    case X86_REG_R13: return 13;
    case X86_REG_R14: return 14;
    case X86_REG_R15: return 15;
    default: return {};
  }
}

bool leaves(const cs_insn& instruction) {
  const cs_detail& detail = *instruction.detail;
  return std::any_of(detail.groups, detail.groups + detail.groups_count, [](std::uint8_t group) {
    return group == X86_GRP_JUMP || group == X86_GRP_CALL || group == X86_GRP_RET;
  });
}

bool moves_stack_pointer(const Disassembler& disassembler, const cs_insn& instruction) {
  cs_regs reads{};
  cs_regs writes{};
  std::uint8_t read_count = 0;
  std::uint8_t write_count = 0;
  return cs_regs_access(disassembler.handle(), &instruction, reads, &read_count, writes,
                        &write_count) != CS_ERR_OK ||
         std::any_of(writes, writes + write_count, [](std::uint16_t reg) {
           return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP;
         });
}

}  // namespace

std::vector<PushedRegister> pushed_at_start(const Module& module, RemoteAddr start, RemoteAddr pc) {
  std::vector<PushedRegister> pushed;
  const auto disassembler = Disassembler::open();
  if (!disassembler) return pushed;
  pc = std::min(pc, start + kMostBytes);
  std::uint64_t below = 0;
  while (start < pc) {
    const cs_insn* const instruction = disassembler->decode(module.file_bytes(start), start);
    if (instruction == nullptr || leaves(*instruction)) break;
    start = start + instruction->size;
    if (instruction->id != X86_INS_PUSH) {
      if (moves_stack_pointer(*disassembler, *instruction)) break;
      continue;
    }
    const cs_x86_op& from = instruction->detail->x86.operands[0];
    if (from.size != kWordBytes) break;
    below += kWordBytes;
    const auto number = from.type == X86_OP_REG ? preserved(from.reg) : std::nullopt;
    const bool is_first =
        number && std::none_of(pushed.begin(), pushed.end(),
                               [&](const PushedRegister& one) { return one.number == *number; });
    if (is_first) pushed.push_back({*number, below});
  }
  return pushed;
}

}  // namespace heapattach::unwind
