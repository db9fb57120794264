#pragma once

#include <cstdint>

#include "attach/process/memory_map.h"
#include "symbols/boehm/collector.h"

namespace heapattach::boehm {

// The collector's counters. A collector without symbols may keep them at an unknown place: then the
// size of the heap is what its index adds up to. `in_use` is how much memory the process uses.
heap::Counters counters_or_index(const Collector& collector,
                                 const MemoryReader& memory,
                                 const MemoryMap& map,
                                 std::uint64_t in_use);

}  // namespace heapattach::boehm
