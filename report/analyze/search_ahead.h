#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "attach/base/prefetch.h"
#include "report/analyze/graph.h"
#include "report/analyze/referrers.h"

namespace heapattach::analyze {

// Fetches memory ahead of its turn, for a search that follows the edges of `next` in order. What it
// needs is scattered: first where the edges of an object begin, then the edges, then `state(edge)`,
// the address of what the search remembers about the object that an edge leads to.
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

// The index of an object's edges, and the edges themselves, for a graph in both directions.
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
