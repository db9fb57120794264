#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/dominators.h"

namespace heapattach::analyze {

// A place where memory gathers: an object that dominates at least so many bytes in pieces each of
// which is smaller than that, or the first link of a list of such a size.
struct Accumulation {
  ObjectIndex object = kNone;
  std::uint64_t gathered = 0;  // bytes that it dominates, without what gathers at others below it
  std::uint64_t links = 1;     // of the list that it begins, of its own type; 1: it is no list

  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};

// All of them in the tree of dominators, those that gather most first. `retained` and `types` are
// by object. What holds one of them and little besides is none itself.
[[nodiscard]] std::vector<Accumulation> find_accumulations(
    const Dominators& dominators,
    std::span<const std::uint64_t> retained,
    std::span<const snapshot::TypeIndex> types,
    std::uint64_t threshold);

}  // namespace heapattach::analyze
