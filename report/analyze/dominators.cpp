// The algorithm is Semi-NCA (L. Georgiadis, "Linear-Time Algorithms for Dominators and Related
// Problems", 2005). Number the objects in depth-first order. For each, from the largest number
// down, find the smallest number from which a path over larger numbers only reaches it (its
// semidominator), with shortened paths. Its dominator is then the closest ancestor in the search
// tree whose number is not larger than that. Preferred to Lengauer and Tarjan's for its three
// arrays instead of six, and to iteration because a heap has lists of millions.
//
// All arrays are by number, see walk.h. Most objects have only one edge to them, that of the tree:
// they cost next to nothing.

#include "report/analyze/dominators.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heapattach::analyze {

namespace {

// The semidominators, found from the largest number down. `best_` of a number is that of the
// numbers on its shortened path whose semidominator is the smallest.
class Semidominators {
 public:
  explicit Semidominators(const Numbers& parent) : above_(parent) {
    semi_.resize(parent.size());
    std::iota(semi_.begin(), semi_.end(), Number{0});
    best_ = semi_;
  }

  Numbers find(const Walk& walk) && {
    for (Number number = static_cast<Number>(semi_.size()) - 1; number > 0; --number) {
      Number semi = above_[number];
      for (const Number from : walk.others_to(number)) {
        semi = std::min(semi, semi_[evaluate(from, number + 1)]);
      }
      semi_[number] = semi;
    }
    return std::move(semi_);
  }

 private:
  // The number with the smallest semidominator from `number` up to, but excluding, the first
  // ancestor that is smaller than `done`; those from `done` on are finished.
  Number evaluate(Number number, Number done) {
    if (above_[number] < done) return best_[number];
    do {
      path_.push_back(number);
      number = above_[number];
    } while (above_[number] >= done);
    for (; !path_.empty(); path_.pop_back()) {
      const Number below = path_.back();
      above_[below] = above_[number];
      if (semi_[best_[number]] < semi_[best_[below]]) best_[below] = best_[number];
      number = below;
    }
    return best_[number];
  }

  Numbers above_;  // shortened as we go
  Numbers semi_;   // of finished numbers; for others the number itself
  Numbers best_;
  std::vector<Number> path_;
};

}  // namespace

Dominators dominators_by_number(const Walk& walk) {
  const Numbers semi = Semidominators(walk.parent).find(walk);
  Dominators result{walk.parent, {}};
  for (Number number = 1; number < result.of.size(); ++number) {
    Number closest = result.of[number];
    while (closest > semi[number]) closest = result.of[closest];
    result.of[number] = closest;
  }
  // Only now: until here the roots, 0, had to be above all others.
  std::replace(result.of.begin(), result.of.end(), Number{0}, kNone);
  result.order.resize(result.of.size() - 1);
  std::iota(result.order.begin(), result.order.end(), Number{1});
  return result;
}

Dominators find_dominators(const Graph& graph) {
  Walk found = walk(graph);
  found.number_of = Numbers();
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

snapshot::FlatArray<std::uint64_t> retained_bytes(const Dominators& dominators,
                                                  std::span<const std::uint64_t> bytes) {
  snapshot::FlatArray<std::uint64_t> retained(dominators.of.size(), 0);
  for (auto object = dominators.order.rbegin(); object != dominators.order.rend(); ++object) {
    retained[*object] += bytes[*object];
    const ObjectIndex by = dominators.of[*object];
    if (by != kNone) retained[by] += retained[*object];
  }
  return retained;
}

}  // namespace heapattach::analyze
