#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/graph/graph.h"

namespace heapattach::graph {

// Who dominates whom: all ways from the roots to an object lead through its dominator. Without the
// dominator the object would be garbage, so what an object dominates is what it retains.
struct Dominators {
  // For each object its closest dominator; kNone if no single object is one, or if no root leads to
  // it.
  std::vector<ObjectIndex> of;
  // The objects that roots lead to, each behind its dominator.
  std::vector<ObjectIndex> order;
};

[[nodiscard]] Dominators find_dominators(const Graph& graph);

// For each object the sum of `bytes` of all that it dominates, itself included; 0 for what no root
// leads to.
[[nodiscard]] std::vector<std::uint64_t> retained_bytes(const Dominators& dominators,
                                                        std::span<const std::uint64_t> bytes);

}  // namespace heapattach::graph
