#pragma once

#include <span>
#include <vector>

#include "attach/freeze.h"
#include "attach/memory_map.h"
#include "attach/memory_reader.h"

namespace heapattach::unwind {

// What a signal interrupted goes on on another stack where the handler has one of its own
// (sigaltstack): the used parts of those stacks, for threads that are not on their own. `memory`
// has the code of the target, and what of the stacks the threads are on now.
std::vector<Range> interrupted_stacks(std::span<const FrozenThread> threads,
                                      const MemoryMap& map,
                                      const MemoryReader& memory);

}  // namespace heapattach::unwind
