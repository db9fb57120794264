#include "report/analyze/why.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "report/analyze/dominators.h"
#include "report/analyze/find.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/other_paths.h"
#include "report/analyze/roots.h"

namespace heapattach::analyze {

namespace {

using analyze::Dominators;
using analyze::kNone;
using snapshot::ObjectIndex;
using snapshot::Snapshot;

class Explainer {
 public:
  // Paths begin at `from`. What is retained, and by what, always depends on all roots.
  Explainer(const Snapshot& snapshot,
            const WhyOptions& options,
            const RootOrder& all,
            const RootOrder& from)
      : snapshot_(snapshot),
        options_(options),
        roots_(all),
        from_(from),
        names_(snapshot),
        edges_(snapshot, options.exclusions, names_),
        graph_(edges_.graph(roots_.objects)),
        dominators_(analyze::find_dominators(graph_)) {
    snapshot::FlatArray<std::uint64_t> bytes;
    bytes.reserve(snapshot.objects.size());
    for (const snapshot::Object& object : snapshot.objects)
      bytes.push_back(snapshot.bytes_of(object));
    retained_ = analyze::retained_bytes(dominators_, bytes);
    why_.what = options.what;
    why_.from = options.from;
    why_.excluded_edges = edges_.excluded();
    why_.unused_exclusions = edges_.unused();
  }

  Why explain_object(ObjectIndex object) && {
    why_.object = object;
    count({object});
    const Graph graph = edges_.graph(from_.objects);
    const analyze::Referrers referrers(graph);
    const PathsToObject paths(graph, referrers, object, from_.path_order());
    std::set<RootInWords> seen;
    for (const std::uint32_t root : paths.roots()) {
      if (!seen.insert(same_in_words(snapshot_.roots[from_.numbers[root]])).second) continue;
      if (why_.paths.size() < options_.paths) {
        add_path(paths.from(root), {object});
      } else {
        ++why_.other_paths;
      }
    }
    if (why_.paths.empty()) why_.unreached = 1;
    return std::move(why_);
  }

  Why explain_objects(const std::vector<ObjectIndex>& objects) && {
    count(objects);
    constexpr std::size_t kMostSearched = 3;  // each takes as long as the search for all paths
    const Graph graph = edges_.graph(from_.objects);
    const analyze::ShortestPaths root_paths =
        analyze::shortest_root_paths(graph, from_.path_order());
    MergedPaths merged(snapshot_, root_paths, from_.numbers, names_);
    const OtherPaths others(snapshot_, graph, from_, root_paths, names_);
    std::uint64_t reached = 0;
    for (MergedPaths::Group& group : merged.group(objects)) {
      reached += group.objects.size();
      if (why_.paths.size() >= options_.paths) {
        ++why_.other_paths;
        why_.other_objects += group.objects.size();
        continue;
      }
      WhyPath& path = add_path(root_paths.to(group.objects.front()), group.objects);
      path.summary = std::move(group.summary);
      if (why_.paths.size() > kMostSearched) continue;
      path.also = others.to(group.objects);
    }
    why_.unreached = objects.size() - reached;
    return std::move(why_);
  }

 private:
  void count(const std::vector<ObjectIndex>& objects) {
    why_.objects = objects.size();
    for (const ObjectIndex object : objects) {
      why_.bytes += snapshot_.bytes_of(snapshot_.objects[object]);
    }
    why_.retained_bytes = retained_by(objects);
  }

  WhyPath& add_path(analyze::RootPath root_path, const std::vector<ObjectIndex>& objects) {
    WhyPath& path = why_.paths.emplace_back();
    path.objects = objects.size();
    for (const ObjectIndex object : objects) {
      path.bytes += snapshot_.bytes_of(snapshot_.objects[object]);
    }
    path.retained_bytes = retained_by(objects);
    path.root = from_.numbers[root_path.front().by];
    path.root_path = std::move(root_path);
    path.dominators = dominators_of(objects);
    path.is_held_by_root =
        objects.size() == 1 && std::find(roots_.objects.begin(), roots_.objects.end(),
                                         objects.front()) != roots_.objects.end();
    return path;
  }

  // What all of them retain: what each retains, unless another of them retains it.
  [[nodiscard]] std::uint64_t retained_by(const std::vector<ObjectIndex>& objects) const {
    std::vector<bool> is_below(snapshot_.objects.size());
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
  [[nodiscard]] std::vector<Dominator> dominators_of(
      const std::vector<ObjectIndex>& objects) const {
    std::vector<std::uint32_t> below(snapshot_.objects.size());
    for (const ObjectIndex object : objects) ++below[object];
    ObjectIndex closest = kNone;
    for (auto at = dominators_.order.rbegin(); at != dominators_.order.rend(); ++at) {
      const ObjectIndex by = dominators_.of[*at];
      if (by == kNone) continue;
      below[by] += below[*at];
      // The deepest come first: an object comes after what it dominates.
      if (closest == kNone && below[by] == objects.size()) closest = by;
    }
    // If one of them dominates all the others, no other of them is above it.
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

  const Snapshot& snapshot_;
  const WhyOptions& options_;
  const RootOrder& roots_;
  const RootOrder& from_;
  EdgeNames names_;
  RemainingEdges edges_;
  analyze::Graph graph_;
  Dominators dominators_;
  snapshot::FlatArray<std::uint64_t> retained_;
  Why why_;
};

}  // namespace

Result<Why> explain_why(const Snapshot& snapshot, const WhyOptions& options) {
  const RootOrder all(snapshot);
  std::optional<RootOrder> named;
  if (!options.from.empty()) named = HA_TRY(all.called(snapshot, options.from));
  const RootOrder& from = named ? *named : all;
  if (const auto address = parse_address(options.what)) {
    const ObjectIndex object = HA_TRY(find_object(snapshot, *address));
    return Explainer(snapshot, options, all, from).explain_object(object);
  }
  const auto objects = HA_TRY(find_objects(snapshot, options.what));
  return Explainer(snapshot, options, all, from).explain_objects(objects);
}

}  // namespace heapattach::analyze
