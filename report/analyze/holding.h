#pragma once

#include <cstdint>
#include <vector>

#include "report/analyze/dominators.h"
#include "report/analyze/roots.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// The dominators and related data, computed once for all reports. All but the roots are indexed by
// object.
struct Holding {
  // Fills only the data about objects; the caller adds the data about edges.
  Holding(const snapshot::Snapshot& snapshot, RootOrder root_order);
  // Fills all members. The snapshot must have its edges.
  explicit Holding(const snapshot::Snapshot& snapshot);

  RootOrder roots;
  FlatArray<snapshot::TypeIndex>
      types;  // types with the same name are merged into the first of them
  FlatArray<std::uint64_t> bytes;
  analyze::Dominators dominators;
  FlatArray<std::uint64_t> retained;
  std::vector<bool> is_outermost;  // reachable, and no object of its type dominates it
};

}  // namespace heapattach::analyze
