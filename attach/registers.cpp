#include "attach/registers.h"

namespace heapattach {

Registers registers_of(const RawRegisters& raw) {
  return {.general = {raw.rax, raw.rbx, raw.rcx, raw.rdx, raw.rsi, raw.rdi, raw.rbp, raw.r8, raw.r9,
                      raw.r10, raw.r11, raw.r12, raw.r13, raw.r14, raw.r15},
          .instruction_pointer = {raw.rip},
          .stack_pointer = {raw.rsp},
          .thread_pointer = {raw.fs_base}};
}

}  // namespace heapattach
