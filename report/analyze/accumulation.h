#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/dominators.h"

namespace heapattach::analyze {

// An object that gathers memory: it dominates at least so many bytes in pieces that are each
// smaller than that, or is the first link of a list of such a size.
struct Accumulation {
  ObjectIndex object = kNone;
  std::uint64_t gathered = 0;  // bytes that it dominates, without those that gather below it
  std::uint64_t links = 1;     // of the list that it begins, of its own type; 1: not a list

  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};

// All such objects in the dominator tree, those that gather most first. `retained` and `types` are
// by object. An object that holds such an object and little else is not one itself.
[[nodiscard]] std::vector<Accumulation> find_accumulations(
    const Dominators& dominators,
    std::span<const std::uint64_t> retained,
    std::span<const snapshot::TypeIndex> types,
    std::uint64_t threshold);

}  // namespace heapattach::analyze
