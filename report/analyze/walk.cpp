// The parts are found on the way (D. Pearce, "A Space-Efficient Algorithm for Finding Strongly
// Connected Components", 2016): a finished object waits until the first found object of its part is
// finished; then the whole part is on top of the waiting objects.

#include "report/analyze/walk.h"

#include <algorithm>
#include <utility>

namespace heapattach::analyze {

namespace {

class Walker {
 public:
  explicit Walker(const Graph& graph) : graph_(graph) {
    found_.number_of.assign(graph.size(), kUnseen);
    found_.objects.reserve(graph.size() + std::size_t{1});
    found_.parent.reserve(graph.size() + std::size_t{1});
    found_.by_part.reserve(graph.size());
    low_.reserve(graph.size() + std::size_t{1});
    others_.reserve(graph.edges.size());  // address space, of which only what is written counts
    found_.objects.push_back(kNone);
    found_.parent.push_back(0);
    low_.push_back(0);
  }

  Walk run() && {
    for (const ObjectIndex root : graph_.roots) {
      if (const Number number = found_.number_of[root]; number != kUnseen) {
        others_.push_back({0, number});
        continue;
      }
      enter(root, 0);
      while (!open_.empty()) step();
    }
    group_others();
    return std::move(found_);
  }

 private:
  struct Open {
    Number number = 0;
    std::uint32_t next = 0;  // of its edges
  };

  struct Other {
    Number from = 0;
    Number to = 0;
  };

  void enter(ObjectIndex object, Number parent) {
    const auto number = static_cast<Number>(found_.objects.size());
    found_.number_of[object] = number;
    found_.objects.push_back(object);
    found_.parent.push_back(parent);
    low_.push_back(number);
    open_.push_back({number, 0});
    // They are scattered in memory, and all will be needed: better all at once than one by one.
    constexpr std::size_t kMost = 8;
    const auto edges = graph_.from(object);
    for (const snapshot::Edge& edge : edges.first(std::min(edges.size(), kMost))) {
      __builtin_prefetch(&found_.number_of[edge.to]);
      __builtin_prefetch(&graph_.first_edge[edge.to]);
    }
  }

  void step() {
    Open& open = open_.back();
    const auto edges = graph_.from(found_.objects[open.number]);
    while (open.next < edges.size()) {
      const ObjectIndex object = edges[open.next++].to;
      const Number to = found_.number_of[object];
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
  std::vector<Open> open_;
  snapshot::FlatArray<Other> others_;
  Numbers low_;  // the smallest number known of its part; kUnseen once the part is complete
  std::vector<Number> waiting_;
};

}  // namespace

Walk walk(const Graph& graph) {
  return Walker(graph).run();
}

}  // namespace heapattach::analyze
