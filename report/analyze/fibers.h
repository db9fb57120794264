#pragma once

#include <vector>

#include "report/analyze/graph.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// By object whether it is a fiber that runs or waits; empty if there is none. The runtime's list of
// fibers, its queues, and whoever resumed a fiber last reference it. None of them is a reason: a
// fiber lives until it ends, and then all these references go.
[[nodiscard]] std::vector<bool> fiber_objects(const snapshot::Snapshot& snapshot);

// The fiber that the object is; null if it is none.
[[nodiscard]] const snapshot::Fiber* fiber_at(const snapshot::Snapshot& snapshot,
                                              ObjectIndex object);

}  // namespace heapattach::analyze
