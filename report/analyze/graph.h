#pragma once

#include <cstdint>
#include <span>

#include "report/model/model.h"

// Questions about references, as free functions over a snapshot's objects and edges. None of them
// recurses: lists are millions of objects long. All are linear in objects and edges, or nearly.
namespace heapattach::analyze {

using snapshot::ObjectIndex;

inline constexpr ObjectIndex kNone = 0xffffffff;

// The objects as numbers, their edges, and the roots. Borrows all of it.
struct Graph {
  std::span<const std::uint64_t> first_edge;  // of each object, and one more for the end
  std::span<const snapshot::Edge> edges;
  std::span<const ObjectIndex> roots;  // in any order, repeated or not

  [[nodiscard]] ObjectIndex size() const {
    return first_edge.empty() ? 0 : static_cast<ObjectIndex>(first_edge.size() - 1);
  }
  [[nodiscard]] std::span<const snapshot::Edge> from(ObjectIndex object) const {
    return edges.subspan(first_edge[object], first_edge[object + 1] - first_edge[object]);
  }
};

}  // namespace heapattach::analyze
