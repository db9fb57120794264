#pragma once

#include "report/snapshot/counts.h"

namespace heapattach::graph {

// Adds to each row of `table`, which counts `snapshot` by `by`, the bytes that its objects lead to
// and the bytes that they retain: those that would go with them. An object counts once for a row,
// also where one of its objects dominates another. The snapshot must have its edges.
void add_sizes(const snapshot::Snapshot& snapshot,
               snapshot::CountBy by,
               snapshot::CountTable& table);

}  // namespace heapattach::graph
