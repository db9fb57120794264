#pragma once

#include <vector>

#include "report/analyze/graph.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// For each object, whether it is a fiber that runs or waits; empty if there is no fiber. The
// runtime's list of fibers, its queues, and whoever resumed a fiber last reference the fiber. None
// of these explains why it is alive: a fiber lives until it ends, and then all these references go.
[[nodiscard]] std::vector<bool> fiber_objects(const snapshot::Snapshot& snapshot);

// The fiber that an object represents; null if the object is not a fiber.
[[nodiscard]] const snapshot::Fiber* fiber_at(const snapshot::Snapshot& snapshot,
                                              ObjectIndex object);

}  // namespace heapattach::analyze
