#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/base/flat_array.h"
#include "report/analyze/graph.h"

namespace heapattach::analyze {

// The position of an object in depth-first order; 0 represents all roots together. Objects that are
// close in the search have close numbers, so arrays indexed by number are accessed almost
// sequentially, unlike arrays indexed by object.
using Number = std::uint32_t;
using Numbers = FlatArray<Number>;

inline constexpr Number kUnseen = 0xffffffff;

// The result of a depth-first search from the roots: a tree, and the edges that are not in it.
struct Walk {
  FlatArray<ObjectIndex> objects;  // by number; [0] is kNone
  Numbers parent;                  // by number: the object whose edge found it

  // The numbers of all objects but the parent that have an edge to this one.
  [[nodiscard]] std::span<const Number> others_to(Number number) const {
    return std::span(others).subspan(first_other[number],
                                     first_other[number + 1] - first_other[number]);
  }
  FlatArray<std::uint64_t> first_other;  // by number, plus one entry for the end
  Numbers others;

  // The numbers from 1, grouped by strongly connected component. A component comes after all
  // components that it reaches.
  Numbers by_part;
  std::vector<bool> ends_part;  // by position in `by_part`
};

// Objects that roots reference, in any order, possibly with duplicates.
struct RootedObjects {
  std::vector<ObjectIndex> objects;
  bool only_unseen = false;  // ignore objects that earlier groups reach
};

[[nodiscard]] Walk walk(const Graph& graph);
// Starts from these groups, in order, instead of from the graph's roots.
[[nodiscard]] Walk walk(const Graph& graph, std::vector<RootedObjects> groups);

}  // namespace heapattach::analyze
