#pragma once

#include <cstdint>
#include <span>

#include "report/model/model.h"

// Graph algorithms, as free functions over a snapshot's objects and edges. None of them recurses,
// because lists can be millions of objects long. All take linear or nearly linear time.
namespace heapattach::analyze {

using snapshot::ObjectIndex;

inline constexpr ObjectIndex kNone = 0xffffffff;

// The objects as numbers, their edges, and the roots. Borrows all of them.
struct Graph {
  std::span<const std::uint64_t> first_edge;  // by object, plus one entry for the end
  std::span<const snapshot::Edge> edges;
  std::span<const ObjectIndex> roots;  // in any order, possibly with duplicates

  [[nodiscard]] ObjectIndex size() const {
    return first_edge.empty() ? 0 : static_cast<ObjectIndex>(first_edge.size() - 1);
  }
  [[nodiscard]] std::span<const snapshot::Edge> from(ObjectIndex object) const {
    return edges.subspan(first_edge[object], first_edge[object + 1] - first_edge[object]);
  }
};

}  // namespace heapattach::analyze
