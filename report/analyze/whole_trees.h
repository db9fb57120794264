#pragma once

#include <span>
#include <vector>

#include "report/analyze/accumulation.h"
#include "report/analyze/dominators.h"
#include "report/model/model.h"

namespace heapattach::analyze {

struct TreeOrPlace {
  Accumulation place;
  bool is_tree = false;  // the place is the upper node, and its links are the nodes
};

// A large tree has several large subtrees, and each of them gathers memory. Replaces them by the
// whole tree, or by the object that holds the upper nodes if no single node dominates the others.
// Leaves out a tree whose upper nodes no single object holds. `types` is indexed by object.
[[nodiscard]] std::vector<TreeOrPlace> whole_trees(const snapshot::Snapshot& snapshot,
                                                   const Dominators& dominators,
                                                   std::span<const snapshot::TypeIndex> types,
                                                   const std::vector<Accumulation>& places);

}  // namespace heapattach::analyze
