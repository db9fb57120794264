#include "report/analyze/root_paths.h"

#include <algorithm>
#include <utility>

namespace heapattach::analyze {

namespace {

// By object the number of the first root that references it; kNone if none does.
std::vector<std::uint32_t> first_roots(const Graph& graph) {
  std::vector<std::uint32_t> first(graph.size(), kNone);
  for (std::size_t root = graph.roots.size(); root-- > 0;) {
    first[graph.roots[root]] = static_cast<std::uint32_t>(root);
  }
  return first;
}

// From the target back to the objects that roots reference.
class BackwardSearch {
 public:
  BackwardSearch(const Graph& graph,
                 const Referrers& referrers,
                 ObjectIndex target,
                 std::span<const std::size_t> quality_ends)
      : referrers_(referrers),
        target_(target),
        root_of_(first_roots(graph)),
        held_(std::max<std::size_t>(quality_ends.size(), 1)),
        quality_ends_(quality_ends) {
    after_.assign(graph.size(), {kNone, kNone});
    after_[target] = {target, 0};
    level_.push_back(target);
  }

  std::vector<RootPath> run(std::size_t most) && {
    // No path is better than one from the best roots, and none shorter than those found first.
    while (!level_.empty() && held_[0].size() < most) {
      std::sort(level_.begin(), level_.end(),
                [this](ObjectIndex a, ObjectIndex b) { return root_of_[a] < root_of_[b]; });
      for (const ObjectIndex object : level_) {
        if (root_of_[object] != kNone) held_[quality_of(root_of_[object])].push_back(object);
      }
      go_back();
    }
    std::vector<RootPath> root_paths;
    for (const auto& of_quality : held_) {
      for (const ObjectIndex object : of_quality) {
        if (root_paths.size() < most) root_paths.push_back(root_path_from(object));
      }
    }
    return root_paths;
  }

 private:
  [[nodiscard]] std::size_t quality_of(std::uint32_t root) const {
    const auto end = std::upper_bound(quality_ends_.begin(), quality_ends_.end(), root);
    return std::min(static_cast<std::size_t>(end - quality_ends_.begin()), held_.size() - 1);
  }

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

  [[nodiscard]] RootPath root_path_from(ObjectIndex object) const {
    RootPath root_path = {{object, root_of_[object]}};
    while (object != target_) {
      root_path.push_back(after_[object]);
      object = after_[object].object;
    }
    return root_path;
  }

  const Referrers& referrers_;
  ObjectIndex target_;
  std::vector<std::uint32_t> root_of_;
  std::vector<Step> after_;  // by object: the next on its path to the target; kNone: not seen
  std::vector<ObjectIndex> level_;
  std::vector<std::vector<ObjectIndex>>
      held_;  // by quality: those that a root references, nearest first
  std::span<const std::size_t> quality_ends_;
};

}  // namespace

RootPath ShortestPaths::to(ObjectIndex object) const {
  RootPath root_path;
  if (!leads_to(object)) return root_path;
  for (; object != kNone; object = before[object].object) {
    root_path.push_back({object, before[object].by});
  }
  std::reverse(root_path.begin(), root_path.end());
  return root_path;
}

ShortestPaths shortest_root_paths(const Graph& graph, std::span<const std::size_t> quality_ends) {
  ShortestPaths root_paths;
  root_paths.before.assign(graph.size(), {kNone, kNone});
  const auto reach = [&root_paths](ObjectIndex object, Step before) {
    if (root_paths.leads_to(object)) return;
    root_paths.before[object] = before;
    root_paths.order.push_back(object);
  };
  std::size_t next = 0;
  const auto go_on_from = [&](std::size_t root, std::size_t end) {
    for (; root < end; ++root) {
      reach(graph.roots[root], {kNone, static_cast<std::uint32_t>(root)});
    }
    for (; next < root_paths.order.size(); ++next) {
      const ObjectIndex from = root_paths.order[next];
      for (const snapshot::Edge& edge : graph.from(from)) {
        reach(edge.to, {from, edge.offset_words});
      }
    }
    return root;
  };
  std::size_t root = 0;
  for (const std::size_t end : quality_ends) root = go_on_from(root, end);
  go_on_from(root, graph.roots.size());
  return root_paths;
}

std::vector<RootPath> root_paths_to(const Graph& graph,
                                    const Referrers& referrers,
                                    ObjectIndex target,
                                    std::size_t most,
                                    std::span<const std::size_t> quality_ends) {
  return BackwardSearch(graph, referrers, target, quality_ends).run(most);
}

}  // namespace heapattach::analyze
