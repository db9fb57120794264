#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/analyze/graph.h"
#include "report/format/export/root_groups.h"
#include "report/model/model.h"

namespace heapattach {

// The graph of a snapshot's objects, with additional nodes for each location that has roots and for
// each variable in it, so that these can be dominators like objects. They are numbered after the
// objects.
struct RootedGraph {
  // Includes all roots.
  explicit RootedGraph(const snapshot::Snapshot& snapshot);
  RootedGraph(const snapshot::Snapshot& snapshot, const std::vector<RootGroup>& places);

  [[nodiscard]] analyze::Graph view() const { return {first_edge, edges, roots}; }
  [[nodiscard]] std::size_t size() const { return first_edge.size() - 1; }

  std::size_t objects = 0;
  std::vector<std::string> labels;  // of the nodes after the objects, safe to show
  FlatArray<std::uint64_t> first_edge;
  FlatArray<snapshot::Edge> edges;
  std::vector<analyze::ObjectIndex> roots;  // the locations, in order
};

}  // namespace heapattach
