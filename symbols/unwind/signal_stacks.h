#pragma once

#include <span>
#include <vector>

#include "attach/freeze.h"
#include "attach/memory_map.h"
#include "attach/memory_reader.h"

namespace heapattach::unwind {

// A signal handler may have a stack of its own (sigaltstack); what it interrupted is then on
// another stack. Returns the used parts of those interrupted stacks, for threads that are not on
// their own. `memory` has the target's code, and the present stacks of the threads.
std::vector<Range> interrupted_stacks(std::span<const FrozenThread> threads,
                                      const MemoryMap& map,
                                      const MemoryReader& memory);

}  // namespace heapattach::unwind
