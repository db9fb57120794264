// Such paths are rare, so all is searched again only if one is met: from every root that says where
// it is, whatever its quality, with as few steps without names as possible. Fibers are not entered
// from the runtime's list of them. An object that the search finds half-way along a list does not
// take the rest of the list with it: the new path counts only if it leads to all objects in
// question.

#include "report/analyze/readable_paths.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "report/analyze/merged_paths.h"

namespace heapattach::analyze {

namespace {

constexpr std::size_t kMany = 6;          // steps without names
constexpr std::size_t kLess = 3;          // the better path has a third of them
constexpr std::size_t kMostTried = 1000;  // roots of one object

bool is_offset(std::string_view name) {
  return name.starts_with('+');
}

// Whether no pointer of such an object has a name.
bool is_nameless(const snapshot::Type& type) {
  if (!type.paths.empty() || type.elements.bytes != 0) return false;
  return std::all_of(type.keys.begin(), type.keys.end(),
                     [](const snapshot::Type::Key& key) { return is_offset(key.before); });
}

// To each object with as few steps without names as possible.
class FewestUnnamed {
 public:
  FewestUnnamed(const snapshot::Snapshot& snapshot,
                const Graph& graph,
                const std::vector<bool>* entered_last)
      : snapshot_(snapshot), graph_(graph), entered_last_(entered_last) {
    for (const snapshot::Type& type : snapshot.types) is_nameless_.push_back(is_nameless(type));
    found_.before.assign(graph.size(), {kNone, kNone});
  }

  ShortestPaths run() && {
    for (std::uint32_t root = 0; root < graph_.roots.size(); ++root) {
      reach(graph_.roots[root], {kNone, root});
    }
    std::vector<ObjectIndex> nameless;
    do {
      for (const ObjectIndex object : std::exchange(nameless, {})) follow(object);
      for (; next_ < found_.order.size(); ++next_) {
        const ObjectIndex object = found_.order[next_];
        if (is_nameless_[snapshot_.objects[object].type]) {
          nameless.push_back(object);
        } else {
          follow(object);
        }
      }
    } while (!nameless.empty());
    return std::move(found_);
  }

 private:
  void follow(ObjectIndex object) {
    for (const snapshot::Edge& edge : graph_.from(object)) {
      const bool is_fiber = entered_last_ != nullptr && (*entered_last_)[edge.to];
      if (!is_fiber) reach(edge.to, {object, edge.offset_words});
    }
  }

  void reach(ObjectIndex object, Step before) {
    if (found_.leads_to(object)) return;
    found_.before[object] = before;
    found_.order.push_back(object);
  }

  const snapshot::Snapshot& snapshot_;
  const Graph& graph_;
  const std::vector<bool>* entered_last_;
  std::vector<bool> is_nameless_;  // by type
  ShortestPaths found_;
  std::size_t next_ = 0;  // in the order
};

}  // namespace

std::size_t ReadablePaths::unnamed_steps(const RootPath& path) {
  std::size_t unnamed = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (is_offset(names_.name(path[i - 1].object, path[i].by))) ++unnamed;
  }
  return unnamed;
}

// A variable, or a word in a frame whose function is known.
bool ReadablePaths::is_readable(const snapshot::Root& root) {
  if (qualities_.of(root) > RootQuality::Word) return false;
  if (!root.symbol.empty() || !root.variable.empty()) return true;
  const snapshot::Stack* const stack = qualities_.stack_of(root);
  if (stack == nullptr || !root.frame || *root.frame >= stack->frames.size()) return false;
  return !snapshot_.places[stack->frames[*root.frame].place].at.function.empty();
}

void ReadablePaths::search() {
  std::vector<ObjectIndex> objects;
  for (std::uint32_t place = 0; place < roots_.numbers.size(); ++place) {
    if (!is_readable(snapshot_.roots[roots_.numbers[place]])) continue;
    places_.push_back(place);
    numbers_.push_back(roots_.numbers[place]);
    objects.push_back(roots_.objects[place]);
  }
  const Graph graph{graph_.first_edge, graph_.edges, objects};
  found_ = FewestUnnamed(snapshot_, graph, roots_.path_order().entered_last).run();
}

std::optional<ReadablePaths::Path> ReadablePaths::instead_of(
    const RootPath& path, const std::vector<ObjectIndex>& objects) {
  const std::size_t unnamed = unnamed_steps(path);
  if (unnamed < kMany) return {};
  if (!found_) search();
  MergedPaths merged(snapshot_, *found_, numbers_, names_);
  auto groups = merged.group(objects);
  if (groups.size() != 1 || groups[0].objects.size() != objects.size()) return {};
  RootPath better = found_->to(groups[0].objects.front());
  if (unnamed_steps(better) * kLess > unnamed || better.size() > path.size()) return {};
  better.front().by = places_[better.front().by];
  return Path{std::move(better), std::move(groups[0].summary)};
}

std::size_t ReadablePaths::first_of(const PathsToObject& paths) {
  const auto& roots = paths.roots();
  if (roots.empty()) return 0;
  const RootPath first = paths.from(roots[0]);
  const std::size_t unnamed = unnamed_steps(first);
  const std::size_t end = unnamed < kMany ? 0 : std::min(roots.size(), kMostTried);
  for (std::size_t i = 1; i < end; ++i) {
    if (!is_readable(snapshot_.roots[roots_.numbers[roots[i]]])) continue;
    const RootPath path = paths.from(roots[i]);
    if (unnamed_steps(path) * kLess <= unnamed && path.size() <= first.size()) return i;
  }
  return 0;
}

}  // namespace heapattach::analyze
