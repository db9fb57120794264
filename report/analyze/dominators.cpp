// The algorithm is Semi-NCA (L. Georgiadis, "Linear-Time Algorithms for Dominators and Related
// Problems", 2005). The objects are numbered in depth-first order. For each object, from the
// largest number down, the algorithm finds the object's semidominator: the smallest number from
// which a path reaches the object over larger numbers only. Paths are shortened on the way. The
// object's dominator is then its closest ancestor in the search tree whose number is not larger
// than the semidominator. Semi-NCA needs three arrays; Lengauer and Tarjan's algorithm needs six,
// and iteration is slow for lists of millions of links.
//
// All arrays are indexed by number (walk.h). Most objects are referenced only by their parent in
// the tree, and cost next to nothing.

#include "report/analyze/dominators.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "attach/base/prefetch.h"

namespace heapattach::analyze {

namespace {

// The semidominators, found from the largest number down.
class Semidominators {
 public:
  explicit Semidominators(const Walk& walk) : walk_(walk) {
    paths_.reserve(walk.parent.size());
    for (const Number above : walk.parent) {
      paths_.push_back({above, static_cast<Number>(paths_.size())});
    }
  }

  Numbers find() && {
    Numbers semi(paths_.size());
    semi[0] = 0;
    for (Number number = static_cast<Number>(paths_.size()) - 1; number > 0; --number) {
      Number least = walk_.parent[number];
      for (std::uint64_t at = walk_.first_other[number + 1]; at > walk_.first_other[number]; --at) {
        // The edges of the next number are stored before those of this one.
        if (at > kAhead) prefetch(&paths_[walk_.others[at - 1 - kAhead]]);
        least = std::min(least, evaluate(walk_.others[at - 1], number + 1));
      }
      semi[number] = least;
      paths_[number].least = least;
    }
    return semi;
  }

 private:
  static constexpr std::size_t kAhead = 16;

  struct Path {
    Number above = 0;  // the parent; after the path has been shortened, another ancestor
    Number least = 0;  // the smallest semidominator from this number up to the last before `above`
  };

  // The smallest semidominator from `number` up to, but excluding, the first ancestor that is
  // smaller than `done`. Numbers from `done` on are finished. An unfinished number counts as its
  // own semidominator.
  Number evaluate(Number number, Number done) {
    if (paths_[number].above < done) return paths_[number].least;
    do {
      path_.push_back(number);
      number = paths_[number].above;
    } while (paths_[number].above >= done);
    for (; !path_.empty(); path_.pop_back()) {
      Path& below = paths_[path_.back()];
      below.above = paths_[number].above;
      below.least = std::min(below.least, paths_[number].least);
      number = path_.back();
    }
    return paths_[number].least;
  }

  const Walk& walk_;
  FlatArray<Path> paths_;
  std::vector<Number> path_;
};

}  // namespace

Dominators dominators_by_number(const Walk& walk) {
  const Numbers semi = Semidominators(walk).find();
  Dominators result{walk.parent, {}};
  for (Number number = 1; number < result.of.size(); ++number) {
    Number closest = result.of[number];
    while (closest > semi[number]) closest = result.of[closest];
    result.of[number] = closest;
  }
  // The roots become kNone only now: until here, their number 0 had to be smaller than all others.
  std::replace(result.of.begin(), result.of.end(), Number{0}, kNone);
  result.order.resize(result.of.size() - 1);
  std::iota(result.order.begin(), result.order.end(), Number{1});
  return result;
}

Dominators find_dominators(const Graph& graph) {
  Walk found = walk(graph);
  found.by_part = Numbers();
  const auto by_number = dominators_by_number(found).of;
  const auto objects = std::move(found.objects);
  found = {};  // makes room
  Dominators result;
  result.of.assign(graph.size(), kNone);
  result.order.assign(objects.begin() + 1, objects.end());
  for (Number number = 1; number < by_number.size(); ++number) {
    const Number by = by_number[number];
    if (by != kNone) result.of[objects[number]] = objects[by];
  }
  return result;
}

FlatArray<std::uint64_t> retained_bytes(const Dominators& dominators,
                                        std::span<const std::uint64_t> bytes) {
  FlatArray<std::uint64_t> retained(dominators.of.size(), 0);
  const std::span order(dominators.order);
  for (std::size_t i = order.size(); i > 0; --i) {
    constexpr std::size_t kStep = 8;
    if (i > 2 * kStep) {
      const ObjectIndex later = order[i - 1 - 2 * kStep];
      prefetch(&dominators.of[later]);
      prefetch(&bytes[later]);
      prefetch(&retained[later]);
      const ObjectIndex by = dominators.of[order[i - 1 - kStep]];
      if (by != kNone) prefetch(&retained[by]);
    }
    const ObjectIndex object = order[i - 1];
    retained[object] += bytes[object];
    const ObjectIndex by = dominators.of[object];
    if (by != kNone) retained[by] += retained[object];
  }
  return retained;
}

}  // namespace heapattach::analyze
