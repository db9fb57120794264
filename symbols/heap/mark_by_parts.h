#pragma once

#include <cstdint>
#include <span>

#include "symbols/heap/mark.h"

namespace heapattach::heap {

// Marks what is reachable, as Marker does, for a heap of which only a part is in memory at a time
// (window.h). Depth-first, each pointer could lead to a part that is not there. Here, objects wait
// until their part's turn comes, which is then scanned in the order of addresses; the next part is
// always the one for which most objects wait. A bit for each slot is all that it needs.
void mark_by_parts(const Heap& heap,
                   ObjectSet& marks,
                   std::span<const RootWords> words,
                   std::span<const ObjectRef> objects,
                   std::uint64_t part_bytes);

}  // namespace heapattach::heap
