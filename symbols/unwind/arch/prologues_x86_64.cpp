#include <algorithm>
#include <optional>

#include <elf.h>

#include "attach/base/word.h"
#include "symbols/code/arch/registers_x86_64.h"
#include "symbols/unwind/arch/x86_64.h"

namespace heapattach::unwind::x86_64 {

namespace {

using namespace heapattach::x86_64;  // NOLINT(google-build-using-namespace): its registers

constexpr std::uint64_t kMostBytes = 128;

bool leaves(const cs_insn& instruction) {
  const cs_detail& detail = *instruction.detail;
  return std::any_of(detail.groups, detail.groups + detail.groups_count, [](std::uint8_t group) {
    return group == X86_GRP_JUMP || group == X86_GRP_CALL || group == X86_GRP_RET;
  });
}

bool moves_stack_pointer(const Disassembler& disassembler, const cs_insn& instruction) {
  const auto written = WrittenRegisters::of(disassembler.handle(), instruction);
  return !written || std::any_of(written->begin(), written->end(),
                                 [](unsigned reg) { return part_of(reg).number == kRsp; });
}

}  // namespace

std::vector<PushedRegister> pushed_at_start(const Module& module, RemoteAddr start, RemoteAddr pc) {
  std::vector<PushedRegister> pushed;
  const auto disassembler = Disassembler::open(EM_X86_64);
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
        number && *number != kNumbers.stack_pointer &&
        std::none_of(pushed.begin(), pushed.end(),
                     [&](const PushedRegister& one) { return one.number == *number; });
    if (is_first) pushed.push_back({*number, below});
  }
  return pushed;
}

}  // namespace heapattach::unwind::x86_64
