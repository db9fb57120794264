#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/analyze/walk.h"

namespace heapattach::analyze {

// The dominator tree: all paths from the roots to an object go through its dominator. Without the
// dominator the object would be garbage, so an object retains what it dominates.
struct Dominators {
  // For each object, its closest dominator; kNone if there is none, or if the object is
  // unreachable.
  FlatArray<ObjectIndex> of;
  // The reachable objects, each after its dominator.
  FlatArray<ObjectIndex> order;
};

[[nodiscard]] Dominators find_dominators(const Graph& graph);

// The same, indexed by the numbers of `walk` instead of objects. Number 0, the roots, has no
// dominator and is not in the order.
[[nodiscard]] Dominators dominators_by_number(const Walk& walk);

// For each object, the sum of `bytes` of everything that it dominates, including itself; 0 if it is
// unreachable.
[[nodiscard]] FlatArray<std::uint64_t> retained_bytes(const Dominators& dominators,
                                                      std::span<const std::uint64_t> bytes);

}  // namespace heapattach::analyze
