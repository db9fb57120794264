#pragma once

#include <cstdint>
#include <vector>

#include "report/graph/graph.h"
#include "report/snapshot/model.h"

namespace heapattach::graph {

// The roots of a snapshot that say why something is alive, as numbers of Snapshot::roots, in their
// order. The collector's own variables lead to whatever it looked at last, such as the largest
// buffer of a cache: where others lead there too, such a root says nothing and would hide them. All
// that the roots of the snapshot lead to, these lead to as well.
[[nodiscard]] std::vector<std::uint32_t> telling_roots(const snapshot::Snapshot& snapshot);

// What these roots hold, in the same order.
[[nodiscard]] std::vector<ObjectIndex> objects_of(const snapshot::Snapshot& snapshot,
                                                  const std::vector<std::uint32_t>& roots);

}  // namespace heapattach::graph
