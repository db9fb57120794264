#pragma once

#include <optional>
#include <vector>

#include "report/collect/held_heap.h"

namespace heapattach::snapshot {

// All writable memory of the target, except its heap and the collector's own tables, in parts that
// StaleWords reads as a whole. If the last collection marked an object that is not reachable now, a
// word in this memory is or was the reason. Returns nothing if it is too much memory.
[[nodiscard]] std::optional<std::vector<Range>> unscanned_memory(const Target& target,
                                                                 const HeldHeap& held);

}  // namespace heapattach::snapshot
