#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/analyze/walk.h"

namespace heapattach::analyze {

// Who dominates whom: all ways from the roots to an object lead through its dominator. Without the
// dominator the object would be garbage, so what an object dominates is what it retains.
struct Dominators {
  // For each object its closest dominator; kNone if no single object is one, or if no root leads to
  // it.
  snapshot::FlatArray<ObjectIndex> of;
  // The objects that roots lead to, each behind its dominator.
  snapshot::FlatArray<ObjectIndex> order;
};

[[nodiscard]] Dominators find_dominators(const Graph& graph);

// The same with the numbers of `walk` in place of the objects; number 0, the roots, is not among
// them.
[[nodiscard]] Dominators dominators_by_number(const Walk& walk);

// For each object the sum of `bytes` of all that it dominates, itself included; 0 for what no root
// leads to.
[[nodiscard]] std::vector<std::uint64_t> retained_bytes(const Dominators& dominators,
                                                        std::span<const std::uint64_t> bytes);

}  // namespace heapattach::analyze
