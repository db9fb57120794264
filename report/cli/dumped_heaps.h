#pragma once

#include <span>

#include "report/collect/dumped_heap.h"

namespace heapattach {

// All kinds of heaps that their runtimes dump, in the order in which they are looked for.
[[nodiscard]] std::span<const snapshot::DumpedHeap* const> dumped_heaps();

}  // namespace heapattach
