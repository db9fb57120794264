#include "symbols/code/arch/registers_x86_64.h"

namespace heapattach::x86_64 {

namespace {

using Parts = std::array<RegisterPart, X86_REG_ENDING>;

constexpr Parts all_parts() {
  // 8, 4, 2 and 1 bytes, and the high byte of two.
  constexpr std::array<std::array<unsigned, 5>, kRegisters> kNames = {{
      {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
      {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
      {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
      {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
      {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_INVALID},
      {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_INVALID},
      {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_INVALID},
      {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_INVALID},
      {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_INVALID},
      {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_INVALID},
      {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_INVALID},
      {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_INVALID},
      {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_INVALID},
      {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_INVALID},
      {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_INVALID},
      {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_INVALID},
  }};
  constexpr std::array<unsigned, 5> kBytes = {8, 4, 2, 1, 1};
  Parts parts{};
  for (unsigned i = 0; i < kNames.size(); ++i) {
    for (unsigned j = 0; j < kBytes.size(); ++j) {
      const unsigned name = kNames[i][j];
      if (name != X86_REG_INVALID) parts[name] = {i, kBytes[j], j == 4};
    }
  }
  return parts;
}

}  // namespace

RegisterPart part_of(unsigned reg) {
  static constexpr Parts kParts = all_parts();
  return reg < kParts.size() ? kParts[reg] : RegisterPart{};
}

std::optional<std::size_t> preserved(unsigned reg) {
  const unsigned number = part_of(reg).number;
  const bool is_kept = number == kRbx || number == kRsp || number == kRbp || number >= 12;
  if (!is_kept || number == kRegisters) return std::nullopt;
  return kDwarfNumbers.at(number);
}

std::optional<WrittenRegisters> WrittenRegisters::of(csh handle, const cs_insn& instruction) {
  WrittenRegisters written;
  cs_regs reads{};
  std::uint8_t read_count = 0;
  if (cs_regs_access(handle, &instruction, reads, &read_count, written.registers_,
                     &written.count_) != CS_ERR_OK) {
    return std::nullopt;
  }
  return written;
}

}  // namespace heapattach::x86_64
