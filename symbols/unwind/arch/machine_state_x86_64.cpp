#include "symbols/unwind/arch/machine_state.h"

namespace heapattach::unwind {

MachineState::MachineState(const Registers& registers) {
  // The numbers of rax, rbx, rcx, rdx, rsi, rdi, rbp and r8 to r15, in the order of Registers.
  constexpr std::array<std::size_t, 15> kNumbers = {0, 3,  2,  1,  4,  5,  6, 8,
                                                    9, 10, 11, 12, 13, 14, 15};
  for (std::size_t i = 0; i < kNumbers.size(); ++i) values_[kNumbers[i]] = registers.general[i];
  values_[kStackPointer] = registers.stack_pointer.value;
  values_[kReturnAddress] = registers.instruction_pointer.value;
}

}  // namespace heapattach::unwind
