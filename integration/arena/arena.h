#pragma once

// The heap of a program with its own allocator (integration/arena/program.cpp): objects of one size
// in one mapping, each with a header. Only the live tests know this kind of heap. It shows that
// another kind needs only a folder, and a line in the list of kinds (kinds.cpp; symbols/heaps.cpp
// in heapattach).

#include <memory>

#include "symbols/heap/source.h"

namespace heapattach::arena {

[[nodiscard]] Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target);

inline constexpr heap::Kind kHeapKind{.name = "arena",
                                      .key = "arena",
                                      .owner = "the arena",
                                      .is_collected = false,
                                      .is_named_by_size = true,
                                      .reachable = "reachable",
                                      .unreachable = "leaked: nothing reachable references it",
                                      .rest = "the arena's own headers",
                                      .rest_key = "overhead_bytes",
                                      .not_reachable = "leaked, or the arena's own headers",
                                      .free = "free slots",
                                      .unmapped = {},
                                      .find = &find_heap};

}  // namespace heapattach::arena
