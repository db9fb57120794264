#pragma once

#include <cstdint>
#include <vector>

#include "report/analyze/dominators.h"
#include "report/analyze/roots.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// What holds what, computed once for all reports. By object, except the roots.
struct Holding {
  // Only the objects; the caller adds the edges.
  Holding(const snapshot::Snapshot& snapshot, RootOrder root_order);
  // All of it. The snapshot must have its edges.
  explicit Holding(const snapshot::Snapshot& snapshot);

  RootOrder roots;
  std::vector<snapshot::TypeIndex> types;  // those with the same name merged: the first of them
  std::vector<std::uint64_t> bytes;
  analyze::Dominators dominators;
  std::vector<std::uint64_t> retained;
  std::vector<bool> is_outermost;  // reachable, and no object of its type dominates it
};

}  // namespace heapattach::analyze
