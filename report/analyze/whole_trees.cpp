// Objects are nodes of one tree if they are of one type and one dominates the other, directly or
// through further nodes. Where nodes reference their parents too, or a container references several
// nodes (std::map: the root, the first and the last), the container dominates the upper nodes
// instead, each of them directly. Then the upper nodes reference each other.

#include "report/analyze/whole_trees.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_set>

namespace heapattach::analyze {

namespace {

class TreeFinder {
 public:
  TreeFinder(const snapshot::Snapshot& snapshot,
             const Dominators& dominators,
             std::span<const snapshot::TypeIndex> types)
      : snapshot_(snapshot), dominators_(dominators), types_(types) {}

  std::vector<TreeOrPlace> run(const std::vector<Accumulation>& places) {
    find_linked_tops(places);
    std::vector<TreeOrPlace> found;
    std::unordered_set<ObjectIndex> seen;
    for (const Accumulation& place : places) {
      const std::optional<TreeOrPlace> whole = whole_of(place);
      if (whole && seen.insert(whole->place.object).second) found.push_back(*whole);
    }
    return found;
  }

 private:
  // Objects of unknown types may be nodes of one tree if they have the same size, although nothing
  // proves it.
  [[nodiscard]] bool are_alike(ObjectIndex a, ObjectIndex b) const {
    return types_[a] == types_[b] &&
           (is_known(a) || snapshot_.objects[a].size_class == snapshot_.objects[b].size_class);
  }

  [[nodiscard]] bool is_known(ObjectIndex object) const {
    return snapshot_.types[types_[object]].is_known();
  }

  // For each object, goes up from dominator to dominator while these are like it. The last one is
  // the object's top.
  void find_tops() {
    tops_.assign(snapshot_.objects.size(), kNone);
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      tops_[object] = by != kNone && are_alike(object, by) ? tops_[by] : object;
    }
  }

  // Finds the uppermost nodes that a node of another subtree references.
  void find_linked_tops(const std::vector<Accumulation>& places) {
    if (places.empty()) return;
    find_tops();
    std::vector<bool> is_top(snapshot_.objects.size());
    for (const Accumulation& place : places) {
      if (place.links == 1) is_top[tops_[place.object]] = true;
    }
    const Graph graph{snapshot_.first_edge, snapshot_.edges, {}};
    for (const ObjectIndex from : dominators_.order) {
      for (const snapshot::Edge& edge : graph.from(from)) {
        if (!is_top[edge.to] || from == edge.to) continue;
        if (are_alike(from, edge.to) && tops_[from] != edge.to) linked_tops_.insert(edge.to);
      }
    }
  }

  // The tree, or the place, that replaces a subtree. None if no single object holds the tree: its
  // type is reported instead.
  [[nodiscard]] std::optional<TreeOrPlace> whole_of(const Accumulation& place) const {
    if (place.links > 1) return TreeOrPlace{place};
    const ObjectIndex top = tops_[place.object];
    const ObjectIndex holder = dominators_.of[top];
    const bool is_linked = linked_tops_.contains(top);
    if (is_linked && holder != kNone) return TreeOrPlace{{holder, place.gathered, 1}};
    if (is_linked && is_known(top)) return std::nullopt;
    if (top == place.object) return TreeOrPlace{place};
    return TreeOrPlace{{top, place.gathered, is_known(top) ? nodes_of(top) : 1}, is_known(top)};
  }

  [[nodiscard]] std::uint64_t nodes_of(ObjectIndex top) const {
    const auto nodes = std::count_if(dominators_.order.begin(), dominators_.order.end(),
                                     [&](ObjectIndex object) { return tops_[object] == top; });
    return static_cast<std::uint64_t>(nodes);
  }

  const snapshot::Snapshot& snapshot_;
  const Dominators& dominators_;
  std::span<const snapshot::TypeIndex> types_;
  FlatArray<ObjectIndex> tops_;
  std::unordered_set<ObjectIndex> linked_tops_;
};

}  // namespace

std::vector<TreeOrPlace> whole_trees(const snapshot::Snapshot& snapshot,
                                     const Dominators& dominators,
                                     std::span<const snapshot::TypeIndex> types,
                                     const std::vector<Accumulation>& places) {
  return TreeFinder(snapshot, dominators, types).run(places);
}

}  // namespace heapattach::analyze
