#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "report/analyze/graph.h"

namespace heapattach::analyze {

// A small random graph, with cycles, shared parts, self edges, double edges, several roots and
// unreachable parts. A seed always gives the same graph.
struct RandomGraph {
  explicit RandomGraph(std::uint64_t seed, ObjectIndex most = 14) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) {
      return static_cast<ObjectIndex>(random() % limit);
    };
    const ObjectIndex size = 1 + below(most);
    const std::uint64_t density = 1 + below(4);
    first_edge.push_back(0);
    for (ObjectIndex object = 0; object < size; ++object) {
      for (std::uint64_t i = below(density + 1); i > 0; --i) {
        edges.push_back({below(8), below(size)});
      }
      first_edge.push_back(edges.size());
      bytes.push_back(16 + 16 * below(8));
      types.push_back(below(4));
    }
    for (ObjectIndex i = below(4); i > 0; --i) roots.push_back(below(size));
  }

  [[nodiscard]] Graph graph() const { return {first_edge, edges, roots}; }

  // The objects that are reachable from the roots without going through `without`, found by the
  // simplest method.
  [[nodiscard]] std::vector<bool> reached(ObjectIndex without = kNone) const {
    return reached_from(roots, without);
  }
  [[nodiscard]] std::vector<bool> reached_from(std::vector<ObjectIndex> waiting,
                                               ObjectIndex without = kNone) const {
    std::vector<bool> seen(bytes.size());
    const Graph all = graph();
    while (!waiting.empty()) {
      const ObjectIndex at = waiting.back();
      waiting.pop_back();
      if (at == without || seen[at]) continue;
      seen[at] = true;
      for (const snapshot::Edge& edge : all.from(at)) waiting.push_back(edge.to);
    }
    return seen;
  }

  std::vector<std::uint64_t> first_edge;
  std::vector<snapshot::Edge> edges;
  std::vector<ObjectIndex> roots;
  std::vector<std::uint64_t> bytes;
  std::vector<snapshot::TypeIndex> types;
};

}  // namespace heapattach::analyze
