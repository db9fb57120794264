#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "symbols/elf/module.h"
#include "symbols/unwind/machine_state.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

// A thread that has called a function, as a program recorded it of itself: the registers after the
// return, and a copy of the stack from the stack pointer upwards, perhaps not all of it.
struct StackSample {
  MachineState registers;
  std::vector<std::byte> stack;
};

// Walks all of them, in such a worker as walk_stacks() uses; in their order. Reads no memory but
// the copies. Call it while this process has one thread.
Result<std::vector<StackRecord>> walk_samples(const Modules& modules,
                                              std::span<const StackSample> samples,
                                              const FrameLimits& limits,
                                              std::chrono::milliseconds time);

}  // namespace heapattach::unwind
