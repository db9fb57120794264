#include <algorithm>
#include <span>

#include "symbols/code/arch/branches.h"

namespace heapattach {

namespace {

bool is_in_group(const cs_insn& instruction, std::uint8_t group) {
  const std::span groups(instruction.detail->groups, instruction.detail->groups_count);
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace

Branch branch_of(const cs_insn& instruction, RemoteAddr at) {
  Branch branch;
  const bool always_jumps = instruction.id == X86_INS_JMP;
  branch.is_call = instruction.id == X86_INS_CALL;
  branch.is_jump = always_jumps || (!branch.is_call && is_in_group(instruction, CS_GRP_JUMP));
  branch.ends = always_jumps || is_in_group(instruction, CS_GRP_RET) ||
                instruction.id == X86_INS_HLT || instruction.id == X86_INS_UD2;
  const cs_x86& x86 = instruction.detail->x86;
  if ((!branch.is_call && !branch.is_jump) || x86.op_count != 1) return branch;
  const cs_x86_op& operand = x86.operands[0];
  if (operand.type == X86_OP_IMM) branch.to = RemoteAddr{static_cast<std::uint64_t>(operand.imm)};
  if (operand.type == X86_OP_MEM && operand.mem.base == X86_REG_RIP &&
      operand.mem.index == X86_REG_INVALID) {
    branch.slot = at + instruction.size + static_cast<std::uint64_t>(operand.mem.disp);
  }
  return branch;
}

}  // namespace heapattach
