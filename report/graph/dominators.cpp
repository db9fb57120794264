// The algorithm is Semi-NCA (L. Georgiadis, "Linear-Time Algorithms for Dominators and Related
// Problems", 2005): number the objects in the order of a depth-first search, find for each the
// smallest number from which a way leads to it over larger numbers only (its semidominator), from
// the largest number down, with shortened paths; its dominator is then the closest ancestor in the
// search tree whose number is not larger than that. It was preferred to Lengauer and Tarjan's for
// its three arrays instead of six, and to iteration because a heap has lists of millions.
//
// All arrays are indexed by number, not by object, so that neighbours in the tree are neighbours in
// memory. Number 0 stands for all roots together.

#include "report/graph/dominators.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heapattach::graph {

namespace {

using Number = std::uint32_t;

constexpr Number kUnseen = 0xffffffff;

// A depth-first search from the roots.
struct Search {
  std::vector<Number> number_of;     // by object; kUnseen if no root leads to it
  std::vector<ObjectIndex> objects;  // by number; [0] stands for the roots
  std::vector<Number> parent;        // by number
};

class Searcher {
 public:
  explicit Searcher(const Graph& graph) : graph_(graph) {
    found_.number_of.assign(graph.size(), kUnseen);
    found_.objects.push_back(kNone);
    found_.parent.push_back(0);
  }

  Search run() && {
    for (const ObjectIndex root : graph_.roots) {
      if (found_.number_of[root] != kUnseen) continue;
      enter(root, 0);
      while (!open_.empty()) step();
    }
    return std::move(found_);
  }

 private:
  struct Open {
    ObjectIndex object = 0;
    std::uint32_t next = 0;  // of its edges
  };

  void enter(ObjectIndex object, Number parent) {
    found_.number_of[object] = static_cast<Number>(found_.objects.size());
    found_.objects.push_back(object);
    found_.parent.push_back(parent);
    open_.push_back({object, 0});
  }

  void step() {
    Open& open = open_.back();
    const auto edges = graph_.from(open.object);
    while (open.next < edges.size()) {
      const ObjectIndex to = edges[open.next++].to;
      if (found_.number_of[to] != kUnseen) continue;
      enter(to, found_.number_of[open.object]);
      return;
    }
    open_.pop_back();
  }

  const Graph& graph_;
  Search found_;
  std::vector<Open> open_;
};

// Who leads to whom, the other way round, by number.
struct Predecessors {
  std::vector<std::uint64_t> first;
  std::vector<Number> numbers;

  [[nodiscard]] std::span<const Number> of(Number number) const {
    return std::span(numbers).subspan(first[number], first[number + 1] - first[number]);
  }
};

Predecessors turn_round(const Graph& graph, const Search& search) {
  Predecessors result;
  result.first.assign(search.objects.size() + 1, 0);
  const auto for_each_edge = [&](const auto& visit) {
    for (Number from = 1; from < search.objects.size(); ++from) {
      for (const snapshot::Edge& edge : graph.from(search.objects[from])) {
        visit(from, search.number_of[edge.to]);
      }
    }
    for (const ObjectIndex root : graph.roots) visit(Number{0}, search.number_of[root]);
  };
  for_each_edge([&](Number, Number to) { ++result.first[to]; });
  std::uint64_t end = 0;
  for (std::uint64_t& first : result.first) first = end += first;
  result.numbers.resize(end);
  for_each_edge([&](Number from, Number to) { result.numbers[--result.first[to]] = from; });
  return result;
}

// The semidominators, found from the largest number down. `best_` of a number is that of the
// numbers on its shortened path whose semidominator is the smallest.
class Semidominators {
 public:
  explicit Semidominators(const std::vector<Number>& parent) : above_(parent) {
    semi_.resize(parent.size());
    std::iota(semi_.begin(), semi_.end(), Number{0});
    best_ = semi_;
  }

  std::vector<Number> find(const Predecessors& predecessors) && {
    for (Number number = static_cast<Number>(semi_.size()) - 1; number > 0; --number) {
      Number semi = above_[number];
      for (const Number from : predecessors.of(number)) {
        semi = std::min(semi, semi_[evaluate(from, number + 1)]);
      }
      semi_[number] = semi;
    }
    return std::move(semi_);
  }

 private:
  // The number with the smallest semidominator from `number` up to, but without, the first ancestor
  // that is smaller than `done`; those from `done` on have been dealt with.
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

  std::vector<Number> above_;  // shortened as we go
  std::vector<Number> semi_;   // of those that had their turn; of others the number itself
  std::vector<Number> best_;
  std::vector<Number> path_;
};

}  // namespace

Dominators find_dominators(const Graph& graph) {
  const Search search = Searcher(graph).run();
  std::vector<Number> dominator = search.parent;
  {
    const std::vector<Number> semi = Semidominators(search.parent).find(turn_round(graph, search));
    for (Number number = 1; number < dominator.size(); ++number) {
      Number closest = dominator[number];
      while (closest > semi[number]) closest = dominator[closest];
      dominator[number] = closest;
    }
  }
  Dominators result;
  result.of.assign(graph.size(), kNone);
  result.order.assign(search.objects.begin() + 1, search.objects.end());
  for (Number number = 1; number < dominator.size(); ++number) {
    result.of[search.objects[number]] = search.objects[dominator[number]];
  }
  return result;
}

std::vector<std::uint64_t> retained_bytes(const Dominators& dominators,
                                          std::span<const std::uint64_t> bytes) {
  std::vector<std::uint64_t> retained(dominators.of.size());
  for (auto object = dominators.order.rbegin(); object != dominators.order.rend(); ++object) {
    retained[*object] += bytes[*object];
    const ObjectIndex by = dominators.of[*object];
    if (by != kNone) retained[by] += retained[*object];
  }
  return retained;
}

}  // namespace heapattach::graph
