#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/model/flat_array.h"

namespace heapattach::analyze {

// The place of an object in the order of a depth-first search; 0 stands for all roots together.
// What is near in the search is near in number, so arrays by number are walked without jumping
// about in memory, as arrays by object would be.
using Number = std::uint32_t;
using Numbers = snapshot::FlatArray<Number>;

inline constexpr Number kUnseen = 0xffffffff;

// What a depth-first search from the roots finds: a tree, and the edges that are not in it.
struct Walk {
  Numbers number_of;                         // by object; kUnseen if no root leads to it
  snapshot::FlatArray<ObjectIndex> objects;  // by number; [0] is kNone
  Numbers parent;                            // by number: by whose edge it was found

  // Who else has an edge to it, as numbers; itself aside.
  [[nodiscard]] std::span<const Number> others_to(Number number) const {
    return std::span(others).subspan(first_other[number],
                                     first_other[number + 1] - first_other[number]);
  }
  snapshot::FlatArray<std::uint64_t> first_other;  // by number, and one more for the end
  Numbers others;

  // The numbers from 1 by their strongly connected parts, in which each leads to each other. A part
  // stands behind all that it leads to.
  Numbers by_part;
  std::vector<bool> ends_part;  // by place in `by_part`
};

[[nodiscard]] Walk walk(const Graph& graph);

}  // namespace heapattach::analyze
