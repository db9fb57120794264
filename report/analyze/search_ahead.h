#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "attach/prefetch.h"
#include "report/analyze/graph.h"

namespace heapattach::analyze {

// Fetches memory ahead of its turn, for a search that follows the edges of `next` in order. What it
// needs is scattered: first where the edges of an object begin, then the edges, then `state(to)`,
// the address of what the search remembers about the object that an edge leads to.
template <class State>
void search_ahead(const Graph& graph, std::span<const ObjectIndex> next, const State& state) {
  constexpr std::size_t kStep = 6;
  constexpr std::size_t kMost = 8;
  if (next.size() <= 3 * kStep) return;
  heapattach::prefetch(graph.first_edge.data() + next[3 * kStep]);
  heapattach::prefetch(graph.from(next[2 * kStep]).data());
  const auto edges = graph.from(next[kStep]);
  for (const snapshot::Edge& edge : edges.first(std::min(edges.size(), kMost))) {
    heapattach::prefetch(state(edge.to));
  }
}

}  // namespace heapattach::analyze
