#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "symbols/elf/module.h"
#include "symbols/unwind/arch/machine_state.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

// The state of a thread that called a function, as recorded by the program itself: the registers
// after the return, and a copy of the stack from the stack pointer upwards, which may be cut off.
struct StackSample {
  MachineState registers;
  std::vector<std::byte> stack;
};

// Walks all samples in order, in a worker like that of walk_stacks(). Reads only the copied stacks.
// Takes at most `time`, and a third of what is left until `deadline`. Call it while this process
// has one thread.
Result<std::vector<StackRecord>> walk_samples(const Modules& modules,
                                              std::span<const StackSample> samples,
                                              const FrameLimits& limits,
                                              std::chrono::milliseconds time,
                                              const Deadline& deadline = {});

}  // namespace heapattach::unwind
