#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/dominators.h"

namespace heapattach::analyze {

// An object that gathers memory: either it dominates at least a threshold of bytes in pieces
// smaller than the threshold, or it is the first link of a list of that size.
struct Accumulation {
  ObjectIndex object = kNone;
  std::uint64_t gathered = 0;  // dominated bytes, except those of accumulations below this one
  std::uint64_t links =
      1;  // number of links of its own type in the list that it starts; 1: not a list

  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};

// Finds all accumulations in the dominator tree, the largest first. `retained` and `types` are
// indexed by object. An object that holds an accumulation and little else is not one itself.
[[nodiscard]] std::vector<Accumulation> find_accumulations(
    const Dominators& dominators,
    std::span<const std::uint64_t> retained,
    std::span<const snapshot::TypeIndex> types,
    std::uint64_t threshold);

}  // namespace heapattach::analyze
