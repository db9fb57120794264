#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/analyze/graph.h"
#include "report/analyze/root_quality.h"
#include "report/analyze/walk.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// The roots of a snapshot that explain why something is alive, as indices into Snapshot::roots.
struct ExplainingRoots {
  std::vector<std::uint32_t>
      numbers;  // by quality, best first; within one quality, in the snapshot's order
  // The end of each quality in `numbers`.
  std::vector<std::size_t> quality_ends;
};

// The collector's own variables reference the last objects that it handled, tables of finalizers
// reference every object with a finalizer, and leftover words reference whatever a call once used.
// If a better root reaches the same object, such a root explains nothing, and would hide what
// retains the object. The remaining roots reach everything that all roots of the snapshot reach.
[[nodiscard]] ExplainingRoots explaining_roots(const snapshot::Snapshot& snapshot);

// The objects that these roots reference, in the same order.
[[nodiscard]] std::vector<ObjectIndex> objects_of(const snapshot::Snapshot& snapshot,
                                                  const std::vector<std::uint32_t>& roots);

// The objects that the roots of each quality reference, the best quality first, for a walk that
// starts from the explaining roots.
[[nodiscard]] std::vector<RootedObjects> rooted_objects(const snapshot::Snapshot& snapshot);

}  // namespace heapattach::analyze
