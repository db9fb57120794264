#include "report/analyze/root_paths.h"

#include <algorithm>
#include <utility>

#include "report/analyze/search_ahead.h"

namespace heapattach::analyze {

namespace {

// The roots that reference each object.
class RootsByObject {
 public:
  explicit RootsByObject(const Graph& graph) : is_held_(graph.size()) {
    for (std::uint32_t root = 0; root < graph.roots.size(); ++root) {
      roots_.push_back({graph.roots[root], root});
      is_held_[graph.roots[root]] = true;
    }
    std::sort(roots_.begin(), roots_.end());
  }

  void add_those_of(ObjectIndex object, std::vector<std::uint32_t>& to) const {
    if (!is_held_[object]) return;
    for (auto at = std::lower_bound(roots_.begin(), roots_.end(), std::pair(object, 0U));
         at != roots_.end() && at->first == object; ++at) {
      to.push_back(at->second);
    }
  }

 private:
  std::vector<bool> is_held_;
  std::vector<std::pair<ObjectIndex, std::uint32_t>> roots_;  // sorted
};

// Searches from an object back to the roots.
class BackwardSearch {
 public:
  BackwardSearch(const Graph& graph,
                 const Referrers& referrers,
                 ObjectIndex target,
                 const PathOrder& order)
      : referrers_(referrers), order_(order), roots_by_object_(graph) {
    after_.assign(graph.size(), {kNone, kNone});
    after_[target] = {target, 0};
    level_.push_back(target);
  }

  void run() {
    while (!level_.empty()) {
      std::vector<ObjectIndex> later;
      add_reached_roots(later);
      for (const ObjectIndex object : later) go_back(object, level_);
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> take_roots() { return std::move(roots_); }
  [[nodiscard]] FlatArray<Step> take_steps() { return std::move(after_); }

 private:
  // Goes back over all edges but those to objects that are entered last. Adds these objects to
  // `later`.
  void add_reached_roots(std::vector<ObjectIndex>& later) {
    std::vector<std::vector<std::uint32_t>> found(order_.quality_ends.size() + 1);
    while (!level_.empty()) {
      std::vector<std::uint32_t> roots;
      for (const ObjectIndex object : level_) roots_by_object_.add_those_of(object, roots);
      std::sort(roots.begin(), roots.end());
      for (const std::uint32_t root : roots) found[quality_of(root)].push_back(root);
      std::vector<ObjectIndex> next;
      for (std::size_t i = 0; i < level_.size(); ++i) {
        search_ahead(referrers_, std::span(level_).subspan(i),
                     [this](const Referrer& referrer) { return &after_[referrer.from]; });
        const ObjectIndex object = level_[i];
        if (order_.is_entered_last(object)) {
          later.push_back(object);
        } else {
          go_back(object, next);
        }
      }
      level_ = std::move(next);
    }
    for (const auto& of_quality : found) {
      roots_.insert(roots_.end(), of_quality.begin(), of_quality.end());
    }
  }

  [[nodiscard]] std::size_t quality_of(std::uint32_t root) const {
    const auto& ends = order_.quality_ends;
    return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), root) -
                                    ends.begin());
  }

  void go_back(ObjectIndex object, std::vector<ObjectIndex>& next) {
    for (const Referrer& referrer : referrers_.of(object)) {
      Step& after = after_[referrer.from];
      if (after.object != kNone) continue;
      after = {object, referrer.word};
      next.push_back(referrer.from);
    }
  }

  const Referrers& referrers_;
  const PathOrder& order_;
  RootsByObject roots_by_object_;
  FlatArray<Step> after_;
  std::vector<ObjectIndex> level_;
  std::vector<std::uint32_t> roots_;
};

// Searches from the roots to everything that they reach.
class ForwardSearch {
 public:
  ForwardSearch(const Graph& graph, const PathOrder& order) : graph_(graph), order_(order) {
    found_.before.assign(graph.size(), {kNone, kNone});
    found_.order.reserve(graph.size());
  }

  ShortestPaths run() && {
    for (const std::size_t end : order_.quality_ends) add_roots(end);
    add_roots(graph_.roots.size());
    while (!later_.empty()) {
      for (const auto& [object, before] : std::exchange(later_, {})) reach(object, before);
      follow_edges();
    }
    return std::move(found_);
  }

 private:
  // Adds the roots of one quality, up to its end, and everything that they reach.
  void add_roots(std::size_t end) {
    for (; next_root_ < end; ++next_root_) {
      reach(graph_.roots[next_root_], {kNone, static_cast<std::uint32_t>(next_root_)});
    }
    follow_edges();
  }

  void follow_edges() {
    for (; next_ < found_.order.size(); ++next_) {
      search_ahead(graph_, std::span(found_.order).subspan(next_),
                   [this](const snapshot::Edge& edge) { return &found_.before[edge.to]; });
      const ObjectIndex from = found_.order[next_];
      for (const snapshot::Edge& edge : graph_.from(from)) {
        const Step before{from, edge.offset_words};
        if (order_.is_cut(from, edge.offset_words)) continue;
        if (order_.is_entered_last(edge.to)) {
          later_.emplace_back(edge.to, before);
        } else {
          reach(edge.to, before);
        }
      }
    }
  }

  void reach(ObjectIndex object, Step before) {
    if (found_.leads_to(object)) return;
    found_.before[object] = before;
    found_.order.push_back(object);
  }

  const Graph& graph_;
  const PathOrder& order_;
  ShortestPaths found_;
  std::size_t next_root_ = 0;
  std::size_t next_ = 0;  // in the order
  std::vector<std::pair<ObjectIndex, Step>> later_;
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

ShortestPaths shortest_root_paths(const Graph& graph, const PathOrder& order) {
  return ForwardSearch(graph, order).run();
}

PathsToObject::PathsToObject(const Graph& graph,
                             const Referrers& referrers,
                             ObjectIndex target,
                             const PathOrder& order)
    : held_(graph.roots), target_(target) {
  BackwardSearch search(graph, referrers, target, order);
  search.run();
  after_ = search.take_steps();
  roots_ = search.take_roots();
}

RootPath PathsToObject::from(std::uint32_t root) const {
  ObjectIndex object = held_[root];
  RootPath root_path = {{object, root}};
  while (object != target_) {
    root_path.push_back(after_[object]);
    object = after_[object].object;
  }
  return root_path;
}

}  // namespace heapattach::analyze
