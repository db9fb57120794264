#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "report/analyze/graph.h"
#include "report/analyze/referrers.h"

// Paths from roots. A path from a better root is preferred, then a shorter one. A path is listed
// beginning at its root.
namespace heapattach::analyze {

// The order of paths.
struct PathOrder {
  // Divides the roots of a graph into groups, the best first: the end of each group. Empty: all are
  // one group.
  std::span<const std::size_t> quality_ends = {};
  // By object: if true, edges to the object are used only to reach what no other edge reaches.
  // Null: false for all objects.
  const std::vector<bool>* entered_last = nullptr;
  // Edges from these words of this object are not used.
  ObjectIndex cut_object = kNone;
  const std::set<std::uint32_t>* cut_words = nullptr;  // null only if there is no such object

  [[nodiscard]] bool is_entered_last(ObjectIndex object) const {
    return entered_last != nullptr && (*entered_last)[object];
  }
  [[nodiscard]] bool is_cut(ObjectIndex from, std::uint32_t word) const {
    return from == cut_object && cut_words->contains(word);
  }
};

// One object of a path, and how the path reaches it.
struct Step {
  ObjectIndex object = kNone;
  std::uint32_t by = 0;  // the word of the previous object; for the first, the number of its root

  friend bool operator==(const Step&, const Step&) = default;
};
using RootPath = std::vector<Step>;

// For each object, a shortest path from the best roots that reach it. Among several, the path from
// the earlier root is preferred, then the path through the object that was reached earlier.
struct ShortestPaths {
  FlatArray<Step> before;        // by object: the step before it; kNone: from a root
  FlatArray<ObjectIndex> order;  // the reachable objects, nearest to the best roots first

  [[nodiscard]] bool leads_to(ObjectIndex object) const {
    return before[object] != Step{kNone, kNone};
  }
  [[nodiscard]] RootPath to(ObjectIndex object) const;
};

// The only search that respects PathOrder's cut edges.
[[nodiscard]] ShortestPaths shortest_root_paths(const Graph& graph, const PathOrder& order = {});

// The shortest path to one object from each root that reaches it. No path visits the object twice.
class PathsToObject {
 public:
  PathsToObject(const Graph& graph,
                const Referrers& referrers,
                ObjectIndex target,
                const PathOrder& order = {});

  // The numbers of these roots in the graph: the best first, then the nearest, then the earliest.
  [[nodiscard]] const std::vector<std::uint32_t>& roots() const { return roots_; }
  [[nodiscard]] RootPath from(std::uint32_t root) const;
  [[nodiscard]] ObjectIndex target() const { return target_; }

 private:
  std::span<const ObjectIndex> held_;  // by root
  ObjectIndex target_;
  FlatArray<Step> after_;  // by object: the next step of its path to the target; kNone: not seen
  std::vector<std::uint32_t> roots_;
};

}  // namespace heapattach::analyze
