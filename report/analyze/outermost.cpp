#include "report/analyze/outermost.h"

#include <cstdint>
#include <utility>

namespace heapattach::analyze {

namespace {

// Descends the dominator tree and counts the objects of each group on the path from the top.
class Descent {
 public:
  Descent(const Dominators& dominators,
          std::span<const snapshot::TypeIndex> groups,
          std::size_t group_count)
      : dominators_(dominators), groups_(groups) {
    is_outermost_.resize(dominators_.of.size());
    above_.resize(group_count);
    link_children();
  }

  std::vector<bool> run() && {
    for (const ObjectIndex top : dominators_.order) {
      if (dominators_.of[top] != kNone) continue;
      for (ObjectIndex at = enter(top); at != kNone;) at = next_of(at, top);
    }
    return std::move(is_outermost_);
  }

 private:
  void link_children() {
    first_.assign(dominators_.of.size(), kNone);
    next_.assign(dominators_.of.size(), kNone);
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (by != kNone) next_[object] = std::exchange(first_[by], object);
    }
  }

  ObjectIndex enter(ObjectIndex object) {
    is_outermost_[object] = above_[groups_[object]]++ == 0;
    return object;
  }

  // The next object of the tree below `top` in walk order; kNone if there is none.
  ObjectIndex next_of(ObjectIndex at, ObjectIndex top) {
    if (first_[at] != kNone) return enter(first_[at]);
    for (;;) {
      --above_[groups_[at]];
      if (at == top) return kNone;
      if (next_[at] != kNone) return enter(next_[at]);
      at = dominators_.of[at];
    }
  }

  const Dominators& dominators_;
  std::span<const snapshot::TypeIndex> groups_;
  FlatArray<ObjectIndex> first_;      // the first object that each object dominates directly
  FlatArray<ObjectIndex> next_;       // the next object with the same dominator
  std::vector<std::uint32_t> above_;  // by group: the objects on the path from the top
  std::vector<bool> is_outermost_;
};

}  // namespace

std::vector<bool> outermost_of_groups(const Dominators& dominators,
                                      std::span<const snapshot::TypeIndex> groups,
                                      std::size_t group_count) {
  return Descent(dominators, groups, group_count).run();
}

}  // namespace heapattach::analyze
