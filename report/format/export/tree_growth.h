#pragma once

#include <cstdint>
#include <vector>

#include "report/format/export/type_tree.h"

namespace heapattach {

// How much each node of a tree has grown since an earlier snapshot, by number of the node.
struct TreeGrowth {
  std::vector<std::uint64_t> own;  // of the node's own objects
  std::vector<std::uint64_t> all;  // including all child nodes
};

// Compares two trees of the same program. What a type has grown in all is divided among the nodes
// of that type, in proportion to what each of them has grown; nodes are compared by their paths.
// So a type that has not grown has no growth anywhere, even if its objects have another holder now,
// and the sum over the tree is that over all types that have grown.
[[nodiscard]] TreeGrowth grown_since(const TypeTree& before, const TypeTree& after);

}  // namespace heapattach
