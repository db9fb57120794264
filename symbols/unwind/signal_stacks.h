#pragma once

#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"

namespace heapattach::unwind {

// A signal handler may run on an alternate stack (sigaltstack), and the code that it interrupted on
// another stack. Returns the used parts of such interrupted stacks, for threads that are not on
// their usual stack. `memory` contains the target's code and the threads' current stacks.
std::vector<Range> interrupted_stacks(std::span<const FrozenThread> threads,
                                      const MemoryMap& map,
                                      const MemoryReader& memory);

}  // namespace heapattach::unwind
