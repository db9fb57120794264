#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "symbols/elf/module.h"

namespace heapattach::unwind {

// A register that a function has saved at its start.
struct PushedRegister {
  std::size_t number = 0;   // as in MachineState
  std::uint64_t below = 0;  // bytes from its place on the stack up to the return address
};

// The registers of its caller that the function at `start` has pushed when it gets to `pc`, for
// functions without tables. Code after a jump, a call, or another change of the stack pointer is
// not looked at.
[[nodiscard]] std::vector<PushedRegister> pushed_at_start(const Module& module,
                                                          RemoteAddr start,
                                                          RemoteAddr pc);

}  // namespace heapattach::unwind
