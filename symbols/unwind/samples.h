#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "symbols/elf/module.h"
#include "symbols/unwind/arch/machine_state.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

// The state of a thread when it called a function, as the program itself recorded it: the registers
// after the return, and a copy of the stack from the stack pointer upwards, which may be cut off.
struct StackSample {
  MachineState registers;
  std::vector<std::byte> stack;
};

// Walks all samples in order, in a worker like that of walk_stacks(). Reads only the copied stacks.
// Takes at most `time`, and at most a third of the time left until `deadline`. Call this while this
// process has one thread.
Result<std::vector<StackRecord>> walk_samples(const Modules& modules,
                                              std::span<const StackSample> samples,
                                              const FrameLimits& limits,
                                              std::chrono::milliseconds time,
                                              const Deadline& deadline = {});

}  // namespace heapattach::unwind
