// Strongly connected components ("parts") are found during the search (D. Pearce, "A
// Space-Efficient Algorithm for Finding Strongly Connected Components", 2016). A finished object
// waits until the first object of its part is finished; then the whole part is on top of the
// waiting objects.

#include "report/analyze/walk.h"

#include <algorithm>
#include <span>
#include <utility>

#include "attach/base/prefetch.h"

namespace heapattach::analyze {

namespace {

class Walker {
 public:
  explicit Walker(const Graph& graph) : graph_(graph) {
    const std::size_t most = graph.size() + std::size_t{1};
    number_of_.assign(graph.size(), kUnseen);
    // This only reserves addresses; memory is used once it is written to.
    found_.objects.resize(most);
    found_.parent.resize(most);
    found_.by_part.reserve(graph.size());
    low_.resize(most);
    others_.reserve(graph.edges.size());
    found_.objects[0] = kNone;
    found_.parent[0] = 0;
    low_[0] = 0;
  }

  void follow(std::span<const ObjectIndex> roots) {
    for (const ObjectIndex root : roots) {
      if (const Number number = number_of_[root]; number != kUnseen) {
        others_.push_back({0, number});
        continue;
      }
      enter(root, 0);
      while (!open_.empty()) step();
    }
  }

  void follow(RootedObjects group) {
    if (group.only_unseen) {
      std::erase_if(group.objects,
                    [this](ObjectIndex object) { return number_of_[object] != kUnseen; });
    }
    follow(std::span<const ObjectIndex>(group.objects));
  }

  Walk finish() && {
    found_.objects.resize(count_);
    found_.parent.resize(count_);
    group_others();
    return std::move(found_);
  }

 private:
  struct Open {
    std::uint64_t next = 0;  // of its edges
    std::uint64_t end = 0;
    Number number = 0;
  };

  struct Other {
    Number from = 0;
    Number to = 0;
  };

  void enter(ObjectIndex object, Number parent) {
    const Number number = count_++;
    number_of_[object] = number;
    found_.objects[number] = object;
    found_.parent[number] = parent;
    low_[number] = number;
    open_.push_back({graph_.first_edge[object], graph_.first_edge[object + 1], number});
    // The data of the referenced objects are scattered, and will all be needed: fetch them
    // together.
    constexpr std::size_t kMost = 8;
    const auto edges = graph_.from(object);
    for (const snapshot::Edge& edge : edges.first(std::min(edges.size(), kMost))) {
      prefetch(&number_of_[edge.to]);
      prefetch(&graph_.first_edge[edge.to]);
    }
  }

  void step() {
    Open& open = open_.back();
    while (open.next < open.end) {
      const ObjectIndex object = graph_.edges[open.next++].to;
      const Number to = number_of_[object];
      if (to == kUnseen) {
        enter(object, open.number);
        return;
      }
      if (to == open.number) continue;
      others_.push_back({open.number, to});
      low_[open.number] = std::min(low_[open.number], low_[to]);
    }
    leave(open.number);
    open_.pop_back();
    expect_return();
  }

  // Prefetches the remaining edges of the objects below on the stack, to which the search returns
  // next. It leaves a long list link by link, when the links' edges have long left the cache.
  void expect_return() {
    constexpr std::size_t kEdges = 12;
    constexpr std::size_t kTargets = 6;
    if (open_.size() <= kEdges) return;
    prefetch(graph_.edges.data() + open_[open_.size() - kEdges].next);
    const Open& near = open_[open_.size() - kTargets];
    if (near.next < near.end) prefetch(&number_of_[graph_.edges[near.next].to]);
  }

  void leave(Number number) {
    if (low_[number] == number) {
      close_part(number);
      return;
    }
    waiting_.push_back(number);
    const Number parent = found_.parent[number];
    low_[parent] = std::min(low_[parent], low_[number]);
  }

  void close_part(Number first) {
    const auto add = [&](Number number) {
      low_[number] = kUnseen;
      found_.by_part.push_back(number);
      found_.ends_part.push_back(number == first);
    };
    while (!waiting_.empty() && waiting_.back() > first) {
      add(waiting_.back());
      waiting_.pop_back();
    }
    add(first);
  }

  void group_others() {
    low_ = Numbers();  // makes room
    number_of_ = Numbers();
    found_.first_other.assign(found_.objects.size() + 1, 0);
    for (const Other& other : others_) ++found_.first_other[other.to];
    std::uint64_t end = 0;
    for (std::uint64_t& first : found_.first_other) first = end += first;
    found_.others.resize(end);
    for (const Other& other : others_) {
      found_.others[--found_.first_other[other.to]] = other.from;
    }
  }

  const Graph& graph_;
  Walk found_;
  Numbers number_of_;  // by object; kUnseen until it is found
  Number count_ = 1;   // the number of numbers given
  std::vector<Open> open_;
  FlatArray<Other> others_;
  // By number: the smallest known number of its part; kUnseen once the part is complete.
  Numbers low_;
  std::vector<Number> waiting_;
};

}  // namespace

Walk walk(const Graph& graph) {
  Walker walker(graph);
  walker.follow(graph.roots);
  return std::move(walker).finish();
}

Walk walk(const Graph& graph, std::vector<RootedObjects> groups) {
  Walker walker(graph);
  for (RootedObjects& group : groups) walker.follow(std::move(group));
  return std::move(walker).finish();
}

}  // namespace heapattach::analyze
