#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/analyze/referrers.h"

// Ways from roots, those from the best roots first, and of these the shortest. A way is told from
// the root on.
//
// `quality_ends` cuts the roots of a graph into groups, the best first: it holds the end of each
// group. Empty: all are one.
namespace heapattach::analyze {

// One object of a way, and how the way comes to it.
struct Step {
  ObjectIndex object = kNone;
  std::uint32_t by = 0;  // the word of the object before; of the first the number of its root

  friend bool operator==(const Step&, const Step&) = default;
};
using Way = std::vector<Step>;

// For each object one of the shortest ways to it from the best roots that lead to it: of several,
// that from the earlier root, and then over the object that was reached earlier.
struct ShortestWays {
  std::vector<Step> before;        // by object: where its way comes from; kNone: from a root
  std::vector<ObjectIndex> order;  // those that a root leads to, nearest to the best roots first

  [[nodiscard]] bool leads_to(ObjectIndex object) const {
    return before[object] != Step{kNone, kNone};
  }
  [[nodiscard]] Way to(ObjectIndex object) const;
};

[[nodiscard]] ShortestWays shortest_ways(const Graph& graph,
                                         std::span<const std::size_t> quality_ends = {});

// The shortest way to `target` from each object that a root holds, at most `most` of them, those
// from the best roots first, and of these the shortest; of those with one length, that from the
// earlier root first. None comes to `target` twice.
[[nodiscard]] std::vector<Way> ways_to(const Graph& graph,
                                       const Referrers& referrers,
                                       ObjectIndex target,
                                       std::size_t most,
                                       std::span<const std::size_t> quality_ends = {});

}  // namespace heapattach::analyze
