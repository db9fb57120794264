#pragma once

#include <cstdint>
#include <vector>

#include "report/analyze/dominators.h"
#include "report/analyze/roots.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// Who holds what, worked out once for all that ask. By object, but for the roots.
struct Holding {
  // Nothing but what the objects are: who holds them is for the caller to fill in.
  Holding(const snapshot::Snapshot& snapshot, RootOrder root_order);
  // All of it. The snapshot must have its edges.
  explicit Holding(const snapshot::Snapshot& snapshot);

  RootOrder roots;
  std::vector<snapshot::TypeIndex> types;  // those that share a name as one: the first of them
  std::vector<std::uint64_t> bytes;
  analyze::Dominators dominators;
  std::vector<std::uint64_t> retained;
  std::vector<bool> is_outermost;  // reachable, and no object of its type dominates it
};

}  // namespace heapattach::analyze
