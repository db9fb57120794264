#include "report/graph/telling_roots.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace heapattach::graph {

namespace {

using snapshot::Root;
using snapshot::Snapshot;

// A variable of the collector: of its library, or, where it is part of the program, by its name.
bool is_of_collector(const Root& root) {
  if (root.kind != snapshot::RootKind::Global) return false;
  const std::string_view module = root.module;
  return module.starts_with("libgc.so") || root.symbol.starts_with("GC_");
}

std::vector<bool> reached_from(const Snapshot& snapshot, std::vector<ObjectIndex> starts) {
  std::vector<bool> is_reached(snapshot.objects.size());
  for (const ObjectIndex start : starts) is_reached[start] = true;
  const Graph graph{snapshot.first_edge, snapshot.edges, {}};
  std::vector<ObjectIndex> open = std::move(starts);
  while (!open.empty()) {
    const ObjectIndex from = open.back();
    open.pop_back();
    for (const snapshot::Edge& edge : graph.from(from)) {
      if (is_reached[edge.to]) continue;
      is_reached[edge.to] = true;
      open.push_back(edge.to);
    }
  }
  return is_reached;
}

}  // namespace

std::vector<std::uint32_t> telling_roots(const Snapshot& snapshot) {
  std::vector<std::uint32_t> telling;
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < snapshot.roots.size(); ++i) {
    (is_of_collector(snapshot.roots[i]) ? others : telling).push_back(i);
  }
  if (others.empty()) return telling;
  const auto is_reached = reached_from(snapshot, objects_of(snapshot, telling));
  for (const std::uint32_t other : others) {
    if (!is_reached[snapshot.roots[other].to]) telling.push_back(other);
  }
  std::sort(telling.begin(), telling.end());
  return telling;
}

std::vector<ObjectIndex> objects_of(const Snapshot& snapshot,
                                    const std::vector<std::uint32_t>& roots) {
  std::vector<ObjectIndex> objects;
  objects.reserve(roots.size());
  for (const std::uint32_t root : roots) objects.push_back(snapshot.roots[root].to);
  return objects;
}

}  // namespace heapattach::graph
