#include "inject/arch/in_place_frame.h"

namespace heapattach {

std::array<std::uint64_t, kArgumentRegisters> arguments_in(const RawRegisters& registers) {
  const RawRegisters& in = registers;
  return {in.rdi, in.rsi, in.rdx, in.rcx, in.r8, in.r9};
}

void give_to_stub(RawRegisters& registers,
                  const InPlaceFunction& function,
                  RemoteAddr saved,
                  RemoteAddr block) {
  registers.rbx = function.errno_location.value;
  registers.r12 = function.function.value;
  registers.r13 = saved.value;
  registers.r14 = block.value;
  registers.r15 = 0;
}

void set_stack_pointer(RawRegisters& registers, RemoteAddr at) {
  registers.rsp = at.value;
}

}  // namespace heapattach
