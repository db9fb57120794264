#include "report/graph/ways.h"

#include <algorithm>
#include <utility>

namespace heapattach::graph {

namespace {

// By object the number of the first root that holds it; kNone if none does.
std::vector<std::uint32_t> first_roots(const Graph& graph) {
  std::vector<std::uint32_t> first(graph.size(), kNone);
  for (std::size_t root = graph.roots.size(); root-- > 0;) {
    first[graph.roots[root]] = static_cast<std::uint32_t>(root);
  }
  return first;
}

// From the target back to what roots hold.
class BackwardSearch {
 public:
  BackwardSearch(const Graph& graph, const Referrers& referrers, ObjectIndex target)
      : referrers_(referrers), target_(target), root_of_(first_roots(graph)) {
    after_.assign(graph.size(), {kNone, kNone});
    after_[target] = {target, 0};
    level_.push_back(target);
  }

  std::vector<Way> run(std::size_t most) && {
    std::vector<Way> ways;
    while (!level_.empty() && ways.size() < most) {
      std::vector<ObjectIndex> held;
      for (const ObjectIndex object : level_) {
        if (root_of_[object] != kNone) held.push_back(object);
      }
      std::sort(held.begin(), held.end(),
                [this](ObjectIndex a, ObjectIndex b) { return root_of_[a] < root_of_[b]; });
      held.resize(std::min(held.size(), most - ways.size()));
      for (const ObjectIndex object : held) ways.push_back(way_from(object));
      go_back();
    }
    return ways;
  }

 private:
  void go_back() {
    std::vector<ObjectIndex> next;
    for (const ObjectIndex object : level_) {
      for (const Referrer& referrer : referrers_.of(object)) {
        Step& after = after_[referrer.from];
        if (after.object != kNone) continue;
        after = {object, referrer.word};
        next.push_back(referrer.from);
      }
    }
    level_ = std::move(next);
  }

  [[nodiscard]] Way way_from(ObjectIndex object) const {
    Way way = {{object, root_of_[object]}};
    while (object != target_) {
      way.push_back(after_[object]);
      object = after_[object].object;
    }
    return way;
  }

  const Referrers& referrers_;
  ObjectIndex target_;
  std::vector<std::uint32_t> root_of_;
  std::vector<Step> after_;  // by object: the next on its way to the target; kNone: not seen
  std::vector<ObjectIndex> level_;
};

}  // namespace

Way ShortestWays::to(ObjectIndex object) const {
  Way way;
  if (!leads_to(object)) return way;
  for (; object != kNone; object = before[object].object) {
    way.push_back({object, before[object].by});
  }
  std::reverse(way.begin(), way.end());
  return way;
}

ShortestWays shortest_ways(const Graph& graph) {
  ShortestWays ways;
  ways.before.assign(graph.size(), {kNone, kNone});
  const auto reach = [&ways](ObjectIndex object, Step before) {
    if (ways.leads_to(object)) return;
    ways.before[object] = before;
    ways.order.push_back(object);
  };
  for (std::size_t root = 0; root < graph.roots.size(); ++root) {
    reach(graph.roots[root], {kNone, static_cast<std::uint32_t>(root)});
  }
  for (std::size_t next = 0; next < ways.order.size(); ++next) {
    const ObjectIndex from = ways.order[next];
    for (const snapshot::Edge& edge : graph.from(from)) {
      reach(edge.to, {from, edge.offset_words});
    }
  }
  return ways;
}

std::vector<Way> ways_to(const Graph& graph,
                         const Referrers& referrers,
                         ObjectIndex target,
                         std::size_t most) {
  return BackwardSearch(graph, referrers, target).run(most);
}

}  // namespace heapattach::graph
