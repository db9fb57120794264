#pragma once

#include <string>

#include "report/collect/held_heap.h"
#include "report/collect/target.h"
#include "report/collect/traced_heap.h"
#include "report/model/model.h"

namespace heapattach::snapshot {

// Decides whether the snapshot is complete. If it is not, sets the reason for the end record: what
// could not be read, and why.
void mark_partial(const Target& target,
                  const HeldHeap& held,
                  const TracedHeap& traced,
                  Snapshot& snapshot);

// The reason why a snapshot would be partial, as far as it can be seen in a running process; empty
// if none is seen.
[[nodiscard]] std::string foreseen_gap(const Target& target);

}  // namespace heapattach::snapshot
