#pragma once

#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/guile/facts.h"
#include "symbols/heap/blocks.h"

namespace heapattach::guile {

// The used parts of the stacks of Guile's virtual machine, one for each thread. These stacks are
// outside the heap, and Guile marks from them when the collector marks a thread's state
// (thread_mark in threads.c). A stack is found through the machine's registers in the heap, which
// must agree with each other: the stack's ends, its size, and the pointers into it.
[[nodiscard]] std::vector<Range> machine_stacks(const Facts& facts,
                                                std::span<const heap::Block> blocks,
                                                const MemoryReader& memory,
                                                const MemoryMap& map);

}  // namespace heapattach::guile
