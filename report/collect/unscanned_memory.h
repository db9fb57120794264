#pragma once

#include <optional>
#include <vector>

#include "report/collect/held_heap.h"

namespace heapattach::snapshot {

// All memory of the target that can be written, except its heap and what the collector keeps there
// for itself: if the last collection has marked an object, a word in this memory is the reason, or
// the program has overwritten that word since. In parts that StaleWords reads as a whole. None if
// it is too much.
[[nodiscard]] std::optional<std::vector<Range>> unscanned_memory(const Target& target,
                                                                 const HeldHeap& held);

}  // namespace heapattach::snapshot
