// The dominators of one object are on all paths to it, so they are on the known path. The search
// starts at the roots and does not go beyond the objects of the path. Then it continues from each
// of these, in order. If no object seen so far references an object of the path beyond the next
// one, then all paths go through the next one, and the objects seen so far would stay alive without
// it.

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

  // The dominators among the path's objects. The last object of the path is always one of them,
  // unless the path does not begin at a root: then the object is unreachable.
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
  // Values of places_ for objects that are not on the rest of the path.
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
  FlatArray<std::uint32_t> places_;  // by object: its place on the path, or kUnseen or kSeen
  FlatArray<ObjectIndex> found_;     // the objects seen, in the order of the search
  std::size_t next_ = 0;             // the first object of found_ whose edges were not followed
  std::uint64_t seen_bytes_ = 0;
  std::uint32_t reached_ = 0;  // the length of the path up to its last object that was reached
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

// The objects that dominate all of `objects`, which are reachable, and that are not among them.
std::vector<Dominator> Retentions::dominators_of(const std::vector<ObjectIndex>& objects) const {
  std::vector<std::uint32_t> below(retained_.size());
  for (const ObjectIndex object : objects) ++below[object];
  ObjectIndex closest = kNone;
  for (auto at = dominators_.order.rbegin(); at != dominators_.order.rend(); ++at) {
    const ObjectIndex by = dominators_.of[*at];
    if (by == kNone) continue;
    below[by] += below[*at];
    // The deepest objects come first: in this direction, an object comes after all that it
    // dominates.
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
