#include "symbols/unwind/arch/x86_64.h"

namespace heapattach::unwind::x86_64 {

void take_general(const Registers& registers, MachineState& state) {
  // The numbers of rax, rbx, rcx, rdx, rsi, rdi, rbp and r8 to r15, in the order of Registers.
  constexpr std::array<std::size_t, 15> kNumbersOfGeneral = {0, 3,  2,  1,  4,  5,  6, 8,
                                                             9, 10, 11, 12, 13, 14, 15};
  for (std::size_t i = 0; i < kNumbersOfGeneral.size(); ++i) {
    state.set(kNumbersOfGeneral[i], registers.general[i]);
  }
}

}  // namespace heapattach::unwind::x86_64
