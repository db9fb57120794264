// The dominators of one object are on all paths to it, so they are on the path that we know. The
// search starts at the roots and does not go beyond the objects of the path. Then it continues from
// each of these, in order. If all objects seen so far reference no later object of the path than
// the next, then all paths go through the next, and the objects seen so far are those that would
// stay alive without it.

#include "report/analyze/retention.h"

#include <algorithm>
#include <utility>

#include "report/analyze/search_ahead.h"

namespace heapattach::analyze {

namespace {

class SearchAlong {
 public:
  SearchAlong(const Graph& graph,
              std::vector<ObjectIndex> path,
              std::span<const std::uint64_t> bytes)
      : graph_(graph), path_(std::move(path)), bytes_(bytes) {
    places_.assign(graph.size(), kUnseen);
    found_.reserve(graph.size());
    for (std::uint32_t i = 0; i < path_.size(); ++i) places_[path_[i]] = i;
  }

  // The dominators among the path's objects. The last object of the path is always one, unless the
  // path does not begin at a root: then it is unreachable.
  std::vector<Dominator> run() && {
    for (const ObjectIndex root : graph_.roots) reach(root);
    follow_edges();
    std::vector<Dominator> dominators;
    for (std::uint32_t i = 0; i < path_.size() && reached_ > i; ++i) {
      if (reached_ == i + 1) dominators.push_back({path_[i], seen_bytes_});
      enter(path_[i]);
      follow_edges();
    }
    for (Dominator& found : dominators) found.retained_bytes = seen_bytes_ - found.retained_bytes;
    return dominators;
  }

 private:
  // Used instead of a place on the path:
  static constexpr std::uint32_t kUnseen = 0xffffffff;
  static constexpr std::uint32_t kSeen = 0xfffffffe;

  void follow_edges() {
    for (; next_ < found_.size(); ++next_) {
      search_ahead(graph_, std::span(found_).subspan(next_),
                   [this](const snapshot::Edge& edge) { return &places_[edge.to]; });
      for (const snapshot::Edge& edge : graph_.from(found_[next_])) reach(edge.to);
    }
  }

  void reach(ObjectIndex object) {
    const std::uint32_t place = places_[object];
    if (place == kSeen) return;
    if (place == kUnseen) {
      enter(object);
    } else {
      reached_ = std::max(reached_, place + 1);
    }
  }

  void enter(ObjectIndex object) {
    places_[object] = kSeen;
    seen_bytes_ += bytes_[object];
    found_.push_back(object);
  }

  const Graph& graph_;
  std::vector<ObjectIndex> path_;
  std::span<const std::uint64_t> bytes_;
  FlatArray<std::uint32_t> places_;  // by object: on the path
  FlatArray<ObjectIndex> found_;     // seen, in the order of the search
  std::size_t next_ = 0;             // in found_
  std::uint64_t seen_bytes_ = 0;
  std::uint32_t reached_ = 0;  // how many of the path, up to the last that something led to
};

}  // namespace

Retention retention_of(const Graph& graph,
                       const RootPath& path,
                       std::span<const std::uint64_t> bytes) {
  Retention found;
  if (path.empty()) return found;
  std::vector<ObjectIndex> objects;
  objects.reserve(path.size());
  for (const Step& step : path) objects.push_back(step.object);
  found.dominators = SearchAlong(graph, std::move(objects), bytes).run();
  found.bytes = found.dominators.back().retained_bytes;
  found.dominators.pop_back();  // the object itself
  return found;
}

std::uint64_t retained_by(const Graph& graph,
                          ObjectIndex object,
                          std::span<const std::uint64_t> bytes) {
  const auto found = SearchAlong(graph, {object}, bytes).run();
  return found.empty() ? 0 : found.front().retained_bytes;
}

Retentions::Retentions(const Graph& graph, std::span<const std::uint64_t> bytes)
    : dominators_(find_dominators(graph)), retained_(retained_bytes(dominators_, bytes)) {}

Retention Retentions::of(const std::vector<ObjectIndex>& objects) const {
  return {bytes_of(objects), dominators_of(objects)};
}

std::uint64_t Retentions::bytes_of(const std::vector<ObjectIndex>& objects) const {
  std::vector<bool> is_below(retained_.size());
  for (const ObjectIndex object : objects) is_below[object] = true;
  std::uint64_t sum = 0;
  for (const ObjectIndex object : dominators_.order) {
    const ObjectIndex by = dominators_.of[object];
    const bool is_covered = by != kNone && is_below[by];
    if (is_below[object] && !is_covered) sum += retained_[object];
    if (is_covered) is_below[object] = true;
  }
  return sum;
}

// Objects that dominate all of the reachable `objects`, and are not among them.
std::vector<Dominator> Retentions::dominators_of(const std::vector<ObjectIndex>& objects) const {
  std::vector<std::uint32_t> below(retained_.size());
  for (const ObjectIndex object : objects) ++below[object];
  ObjectIndex closest = kNone;
  for (auto at = dominators_.order.rbegin(); at != dominators_.order.rend(); ++at) {
    const ObjectIndex by = dominators_.of[*at];
    if (by == kNone) continue;
    below[by] += below[*at];
    // The deepest come first: an object comes after what it dominates.
    if (closest == kNone && below[by] == objects.size()) closest = by;
  }
  // If one of the objects dominates all the others, its own dominator comes next.
  if (std::find(objects.begin(), objects.end(), closest) != objects.end()) {
    closest = dominators_.of[closest];
  }
  std::vector<Dominator> chain;
  for (; closest != kNone; closest = dominators_.of[closest]) {
    chain.push_back({closest, retained_[closest]});
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace heapattach::analyze
