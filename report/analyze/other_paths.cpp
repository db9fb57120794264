// The paths to objects in one container part at the container, or at its buffer. That object stays
// reachable, and so do its other fields: only the edges that the paths use are cut. If the paths
// begin at several roots (a variable of a function that many threads are in), all roots that are
// described in the same words are left out instead.

#include "report/analyze/other_paths.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace heapattach::analyze {

namespace {

constexpr std::size_t kMostPaths = 2;
constexpr std::uint64_t kShare = 10;

class Parting {
 public:
  Parting(const ShortestPaths& root_paths, const std::vector<ObjectIndex>& objects)
      : root_paths_(root_paths), below_(root_paths.before.size(), 0) {
    std::vector<bool> is_asked(below_.size());
    for (const ObjectIndex object : objects) {
      below_[object] = 1;
      is_asked[object] = true;
    }
    // The farthest objects come first, so the first one that all paths go through is where the
    // paths part.
    for (auto at = root_paths.order.rbegin(); at != root_paths.order.rend(); ++at) {
      if (below_[*at] == 0) continue;
      if (at_ == kNone && below_[*at] == objects.size()) at_ = *at;
      const ObjectIndex before = root_paths.before[*at].object;
      if (before != kNone) below_[before] += below_[*at];
    }
    while (at_ != kNone && is_asked[at_]) at_ = root_paths.before[at_].object;
  }

  // The object where the paths part. kNone if they begin at several roots, or at a root that
  // references one of the objects.
  [[nodiscard]] ObjectIndex object() const { return at_; }

  // The words of that object that the paths use, and the words with the same names.
  [[nodiscard]] std::set<std::uint32_t> words(const Graph& graph, EdgeNames& names) const {
    std::set<std::uint32_t> kinds;
    for (const snapshot::Edge& edge : graph.from(at_)) {
      const bool is_used = root_paths_.before[edge.to] == Step{at_, edge.offset_words};
      if (is_used && below_[edge.to] != 0) kinds.insert(names.kind(at_, edge.offset_words));
    }
    std::set<std::uint32_t> words;
    for (const snapshot::Edge& edge : graph.from(at_)) {
      if (kinds.contains(names.kind(at_, edge.offset_words))) words.insert(edge.offset_words);
    }
    return words;
  }

 private:
  const ShortestPaths& root_paths_;
  FlatArray<std::uint64_t> below_;  // by object: how many paths go through it
  ObjectIndex at_ = kNone;
};

// The roots with a name, and static memory. Stacks are left out, because any word there may happen
// to reference a node of a list.
RootOrder variables_of(const RootOrder& roots) {
  RootOrder variables = roots;
  const auto last = static_cast<std::size_t>(RootQuality::Memory);
  if (roots.quality_ends.size() <= last) return variables;
  variables.numbers.resize(roots.quality_ends[last]);
  variables.objects.resize(roots.quality_ends[last]);
  variables.quality_ends.resize(last + 1);
  return variables;
}

// The roots at which the paths to the objects begin.
std::set<std::uint32_t> roots_of(const ShortestPaths& paths,
                                 const std::vector<ObjectIndex>& objects) {
  FlatArray<std::uint32_t> root_of(paths.before.size(), 0);
  for (const ObjectIndex object : paths.order) {
    const Step& before = paths.before[object];
    root_of[object] = before.object == kNone ? before.by : root_of[before.object];
  }
  std::set<std::uint32_t> roots;
  for (const ObjectIndex object : objects) roots.insert(root_of[object]);
  return roots;
}

void leave_out(RootOrder& roots,
               const snapshot::Snapshot& snapshot,
               const std::set<std::string>& left_out) {
  RootKinds kinds(snapshot);
  std::size_t kept = 0;
  for (std::size_t root = 0; root < roots.numbers.size(); ++root) {
    if (left_out.contains(kinds.in_words(snapshot.roots[roots.numbers[root]]))) continue;
    roots.numbers[kept] = roots.numbers[root];
    roots.objects[kept++] = roots.objects[root];
  }
  roots.numbers.resize(kept);
  roots.objects.resize(kept);
  roots.quality_ends.clear();  // variables and memory are equal: the shortest path wins
}

}  // namespace

std::vector<OtherPath> OtherPaths::to(const std::vector<ObjectIndex>& objects) const {
  RootOrder others = variables_of(roots_);
  const Parting parting(root_paths_, objects);
  std::set<std::uint32_t> words;
  if (parting.object() != kNone) {
    words = parting.words(graph_, names_);
  } else {
    std::set<std::string> left_out;
    RootKinds kinds(snapshot_);
    for (const std::uint32_t root : roots_of(root_paths_, objects)) {
      left_out.insert(kinds.in_words(snapshot_.roots[roots_.numbers[root]]));
    }
    leave_out(others, snapshot_, left_out);
  }
  PathOrder order = others.path_order();
  order.cut_object = parting.object();
  order.cut_words = &words;
  return find(objects, others, order);
}

std::vector<OtherPath> OtherPaths::find(const std::vector<ObjectIndex>& objects,
                                        const RootOrder& roots,
                                        const PathOrder& order) const {
  const ShortestPaths found =
      shortest_root_paths({graph_.first_edge, graph_.edges, roots.objects}, order);
  MergedPaths merged(snapshot_, found, roots.numbers, names_);
  std::vector<OtherPath> paths;
  for (MergedPaths::Group& group : merged.group(objects)) {
    const bool is_enough = group.objects.size() * kShare >= objects.size();
    if (paths.size() == kMostPaths || !is_enough) break;
    const RootPath root_path = found.to(group.objects.front());
    const bool enters_last =
        std::any_of(root_path.begin() + 1, root_path.end(),
                    [&](const Step& step) { return order.is_entered_last(step.object); });
    if (!enters_last) paths.push_back({group.objects.size(), std::move(group.summary)});
  }
  return paths;
}

}  // namespace heapattach::analyze
