#include <elf.h>

#include "symbols/vlang/arch/number_set.h"

namespace heapattach::vlang {

// The instruction stores its constant, combines it with the rest of the word, or returns it in the
// second register. Other registers are for arguments.
std::optional<std::int64_t> number_set(std::uint16_t machine, const cs_insn& instruction) {
  if (machine != EM_X86_64) return std::nullopt;
  const cs_x86& x86 = instruction.detail->x86;
  if (x86.op_count != 2 || x86.operands[1].type != X86_OP_IMM) return std::nullopt;
  const cs_x86_op& to = x86.operands[0];
  const bool is_register = to.type == X86_OP_REG;
  const bool combines = instruction.id == X86_INS_OR && is_register && to.size == 8;
  const bool sets = instruction.id == X86_INS_MOV &&
                    (is_register ? to.reg == X86_REG_EDX : to.type == X86_OP_MEM && to.size == 4);
  return combines || sets ? std::optional(x86.operands[1].imm) : std::nullopt;
}

}  // namespace heapattach::vlang
