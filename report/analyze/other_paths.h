#pragma once

#include <vector>

#include "report/analyze/edge_names.h"
#include "report/analyze/graph.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/root_paths.h"
#include "report/analyze/roots.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// Finds other paths to objects that share a merged path. Ignores the references from the container
// that all their paths go through, and searches for the objects again, from the program's
// variables. Borrows everything.
class OtherPaths {
 public:
  // `graph`, `roots` and `root_paths` belong to `snapshot`.
  OtherPaths(const snapshot::Snapshot& snapshot,
             const Graph& graph,
             const RootOrder& roots,
             const ShortestPaths& root_paths,
             EdgeNames& names)
      : snapshot_(snapshot), graph_(graph), roots_(roots), root_paths_(root_paths), names_(names) {}

  // The other paths that hold most of the objects. Each holds at least a tenth of them.
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
