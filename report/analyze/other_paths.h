#pragma once

#include <vector>

#include "report/analyze/edge_names.h"
#include "report/analyze/graph.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/root_paths.h"
#include "report/analyze/roots.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// Finds other paths to objects that share a merged path: ignores the references from the container
// that all their paths go through, and searches for them again from the variables of the program.
// Borrows everything.
class OtherPaths {
 public:
  // `graph` has the edges; `roots` and `root_paths` are of the same snapshot.
  OtherPaths(const snapshot::Snapshot& snapshot,
             const Graph& graph,
             const RootOrder& roots,
             const ShortestPaths& root_paths,
             EdgeNames& names)
      : snapshot_(snapshot), graph_(graph), roots_(roots), root_paths_(root_paths), names_(names) {}

  // The paths that then hold most of the objects, if that is a tenth or more.
  [[nodiscard]] std::vector<OtherPath> to(const std::vector<ObjectIndex>& objects) const;

 private:
  [[nodiscard]] std::vector<OtherPath> find(const std::vector<ObjectIndex>& objects,
                                            const RootOrder& roots,
                                            const PathOrder& order) const;

  const snapshot::Snapshot& snapshot_;
  const Graph& graph_;
  const RootOrder& roots_;
  const ShortestPaths& root_paths_;
  EdgeNames& names_;
};

}  // namespace heapattach::analyze
