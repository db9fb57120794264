#include <algorithm>

#include "inject/arch/in_place_frame.h"

namespace heapattach {

std::array<std::uint64_t, kArgumentRegisters> arguments_in(const RawRegisters& registers) {
  std::array<std::uint64_t, kArgumentRegisters> words{};
  std::copy_n(std::begin(registers.general.regs), words.size(), words.begin());
  return words;
}

void give_to_stub(RawRegisters& registers,
                  const InPlaceFunction& function,
                  RemoteAddr saved,
                  RemoteAddr block) {
  auto& x = registers.general.regs;
  x[19] = function.errno_location.value;
  x[20] = function.function.value;
  x[21] = saved.value;
  x[22] = block.value;
  x[23] = 0;
}

void set_stack_pointer(RawRegisters& registers, RemoteAddr at) {
  registers.general.sp = at.value;
}

}  // namespace heapattach
