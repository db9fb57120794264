#pragma once

#include "attach/arch/registers.h"

namespace heapattach {

// Whether these are the registers of a thread that the kernel has made in the process for itself,
// such as io_uring's: it never runs the program's code. It has the creator's registers, but neither
// an instruction nor a stack (copy_thread() in arch/x86/kernel/process.c).
[[nodiscard]] inline bool is_kernel_worker(const Registers& registers) {
  return registers.instruction_pointer.value == 0 && registers.stack_pointer.value == 0;
}

}  // namespace heapattach
