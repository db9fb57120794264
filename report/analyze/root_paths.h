#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/analyze/referrers.h"

// Paths from roots: those from the best roots first, and among these the shortest. A path is listed
// from the root on.
//
// `quality_ends` divides the roots of a graph into groups, the best first: it holds the end of each
// group. Empty: all are one group.
namespace heapattach::analyze {

// One object of a path, and how the path reaches it.
struct Step {
  ObjectIndex object = kNone;
  std::uint32_t by = 0;  // the word of the previous object; for the first, the number of its root

  friend bool operator==(const Step&, const Step&) = default;
};
using RootPath = std::vector<Step>;

// For each object a shortest path to it from the best roots that reach it: among several, the one
// from the earlier root, then through the object that was reached earlier.
struct ShortestPaths {
  std::vector<Step> before;        // by object: the step before it; kNone: from a root
  std::vector<ObjectIndex> order;  // the reachable objects, nearest to the best roots first

  [[nodiscard]] bool leads_to(ObjectIndex object) const {
    return before[object] != Step{kNone, kNone};
  }
  [[nodiscard]] RootPath to(ObjectIndex object) const;
};

[[nodiscard]] ShortestPaths shortest_root_paths(const Graph& graph,
                                                std::span<const std::size_t> quality_ends = {});

// The shortest path to `target` from each object that a root references, at most `most` of them:
// those from the best roots first, among these the shortest, and among equal ones that from the
// earlier root. No path visits `target` twice.
[[nodiscard]] std::vector<RootPath> root_paths_to(const Graph& graph,
                                                  const Referrers& referrers,
                                                  ObjectIndex target,
                                                  std::size_t most,
                                                  std::span<const std::size_t> quality_ends = {});

}  // namespace heapattach::analyze
