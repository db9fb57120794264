#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/ecl/facts.h"
#include "symbols/heap/blocks.h"

namespace heapattach::ecl {

// ECL's data for one of its threads, mostly outside the heap. ECL's collector hook scans it as
// roots (GC_set_push_other_roots; stacks_scanner in alloc_2.d).
struct Environment {
  Range range;                // the environment itself
  std::vector<Range> stacks;  // the used parts of its stacks, which are atomic objects of the heap
};

// Finds the environments of all threads. An environment is found through its process object, and
// must point back to it. It has three words for each stack: the start, the top and the limit, which
// point into one atomic object. `blocks` are the blocks of the heap's index, sorted.
[[nodiscard]] std::vector<Environment> environments(const Facts& facts,
                                                    std::span<const heap::Block> blocks,
                                                    const MemoryReader& memory);

}  // namespace heapattach::ecl
