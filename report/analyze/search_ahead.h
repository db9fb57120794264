#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "attach/base/prefetch.h"
#include "report/analyze/graph.h"
#include "report/analyze/referrers.h"

namespace heapattach::analyze {

// Prefetches memory for a search that follows the edges of the objects in `next`, in order. The
// data of an object are scattered: the place of its edges, then the edges, then `state(edge)`, the
// address of the search's state for the object that an edge references.
template <class Lists, class State>
void search_ahead(const Lists& lists, std::span<const ObjectIndex> next, const State& state) {
  constexpr std::size_t kStep = 6;
  constexpr std::size_t kMost = 8;
  if (next.size() <= 3 * kStep) return;
  heapattach::prefetch(place_of(lists, next[3 * kStep]));
  heapattach::prefetch(edges_of(lists, next[2 * kStep]).data());
  const auto edges = edges_of(lists, next[kStep]);
  for (const auto& edge : edges.first(std::min(edges.size(), kMost))) {
    heapattach::prefetch(state(edge));
  }
}

// The place of an object's edges, and the edges themselves, for both directions of a graph.
inline const std::uint64_t* place_of(const Graph& graph, ObjectIndex object) {
  return graph.first_edge.data() + object;
}
inline std::span<const snapshot::Edge> edges_of(const Graph& graph, ObjectIndex object) {
  return graph.from(object);
}
inline const std::uint64_t* place_of(const Referrers& referrers, ObjectIndex object) {
  return referrers.place_of(object);
}
inline std::span<const Referrer> edges_of(const Referrers& referrers, ObjectIndex object) {
  return referrers.of(object);
}

}  // namespace heapattach::analyze
