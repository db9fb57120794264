#include <cstdint>
#include <cstring>

#include <elf.h>

#include "symbols/boehm/arch/code_uses.h"

namespace heapattach::boehm {

bool shows_uses(std::uint16_t machine) {
  return machine == EM_X86_64;
}

// An operand is four bytes that are relative to the end of the instruction, which may have an
// immediate after it.
void each_use(const UsesOf& of, const std::function<void(RemoteAddr, RemoteAddr)>& visit) {
  const std::span<const std::byte> code = of.code;
  for (std::size_t i = 2; i + 4 <= code.size(); ++i) {
    const auto before = std::to_integer<unsigned>(code[i - 1]);
    const bool is_memory = (before & 0xc7U) == 5;  // ModRM: relative to the instruction pointer
    const bool is_jump =
        (before & 0xfeU) == 0xe8 || ((before & 0xf0U) == 0x80 && code[i - 2] == std::byte{0x0f});
    if (!is_memory && !is_jump && !of.has_short_addresses) continue;
    std::int32_t value = 0;
    std::memcpy(&value, code.data() + i, sizeof value);
    const RemoteAddr at = of.start + i;
    const auto use = [&](RemoteAddr target) {
      if (of.extent.contains(target)) visit(at, target);
    };
    const RemoteAddr end = at + 4 + static_cast<std::uint64_t>(std::int64_t{value});
    if (is_memory || is_jump) use(end);
    for (const std::uint64_t immediate : {1U, 2U, 4U}) {
      if (is_memory) use(end + immediate);
    }
    if (of.has_short_addresses) use(RemoteAddr{static_cast<std::uint32_t>(value)});
  }
}

void each_target(const cs_insn& instruction, const std::function<void(RemoteAddr)>& visit) {
  const cs_x86& x86 = instruction.detail->x86;
  for (std::uint8_t i = 0; i < x86.op_count; ++i) {
    const cs_x86_op& operand = x86.operands[i];
    if (operand.type == X86_OP_IMM) {
      visit(RemoteAddr{static_cast<std::uint64_t>(operand.imm)});
    } else if (operand.type == X86_OP_MEM) {
      const auto distance = static_cast<std::uint64_t>(operand.mem.disp);
      const bool is_relative = operand.mem.base == X86_REG_RIP;
      visit(RemoteAddr{is_relative ? instruction.address + instruction.size + distance : distance});
    }
  }
}

// By lea with a displacement of 32 bits.
std::vector<RemoteAddr> loaded_addresses(std::uint16_t machine,
                                         std::span<const std::byte> code,
                                         RemoteAddr at) {
  std::vector<RemoteAddr> found;
  if (machine != EM_X86_64) return found;
  for (std::size_t i = 0; i + 7 <= code.size(); ++i) {
    const auto byte = [&](std::size_t n) { return std::to_integer<unsigned>(code[i + n]); };
    if ((byte(0) & 0xfb) != 0x48 || byte(1) != 0x8d || (byte(2) & 0xc7) != 0x05) continue;
    std::int32_t displacement = 0;
    std::memcpy(&displacement, &code[i + 3], sizeof displacement);
    found.push_back(
        RemoteAddr{at.value + i + 7 + static_cast<std::uint64_t>(std::int64_t{displacement})});
  }
  return found;
}

bool jumps_or_calls(const cs_insn& instruction) {
  return instruction.id == X86_INS_JMP || instruction.id == X86_INS_CALL;
}

}  // namespace heapattach::boehm
