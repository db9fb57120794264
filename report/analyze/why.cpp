#include "report/analyze/why.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "report/analyze/find.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/other_paths.h"
#include "report/analyze/retention.h"
#include "report/analyze/roots.h"

namespace heapattach::analyze {

namespace {

using analyze::kNone;
using snapshot::ObjectIndex;
using snapshot::Snapshot;

class Explainer {
 public:
  // Paths begin at the roots of `from`. Retained bytes and dominators always depend on `all` roots.
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
        graph_(edges_.graph(roots_.objects)) {
    bytes_.reserve(snapshot.objects.size());
    for (const snapshot::Object& object : snapshot.objects) {
      bytes_.push_back(snapshot.bytes_of(object));
    }
    why_.what = options.what;
    why_.from = options.from;
    why_.excluded_edges = edges_.excluded();
    why_.unused_exclusions = edges_.unused();
  }

  Why explain_object(ObjectIndex object) && {
    why_.object = object;
    const Graph graph = edges_.graph(from_.objects);
    const analyze::Referrers referrers(graph);
    const PathsToObject paths(graph, referrers, object, from_.path_order());
    const Retention retention = retention_of(graph_, path_from_any_root(paths, referrers), bytes_);
    count({object}, retention.bytes);
    std::set<RootInWords> seen;
    for (const std::uint32_t root : paths.roots()) {
      if (!seen.insert(same_in_words(snapshot_.roots[from_.numbers[root]])).second) continue;
      if (why_.paths.size() < options_.paths) {
        add_path(paths.from(root), {object}, retention);
      } else {
        ++why_.other_paths;
      }
    }
    if (why_.paths.empty()) why_.unreached = 1;
    return std::move(why_);
  }

  Why explain_objects(const std::vector<ObjectIndex>& objects) && {
    const Retentions retentions(graph_, bytes_);
    count(objects, retentions.bytes_of(objects));
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
      WhyPath& path = add_path(root_paths.to(group.objects.front()), group.objects,
                               retentions.of(group.objects));
      path.summary = std::move(group.summary);
      if (why_.paths.size() > kMostSearched) continue;
      path.also = others.to(group.objects);
    }
    why_.unreached = objects.size() - reached;
    return std::move(why_);
  }

 private:
  // A path to the target of `paths`. If the chosen roots do not reach it, a path from any root.
  [[nodiscard]] RootPath path_from_any_root(const PathsToObject& paths,
                                            const Referrers& referrers) const {
    if (!paths.roots().empty()) return paths.from(paths.roots().front());
    if (&from_ == &roots_) return {};
    const PathsToObject all(graph_, referrers, paths.target(), roots_.path_order());
    return all.roots().empty() ? RootPath() : all.from(all.roots().front());
  }

  void count(const std::vector<ObjectIndex>& objects, std::uint64_t retained) {
    why_.objects = objects.size();
    for (const ObjectIndex object : objects) why_.bytes += bytes_[object];
    why_.retained_bytes = retained;
  }

  WhyPath& add_path(analyze::RootPath root_path,
                    const std::vector<ObjectIndex>& objects,
                    Retention retention) {
    WhyPath& path = why_.paths.emplace_back();
    path.objects = objects.size();
    for (const ObjectIndex object : objects) path.bytes += bytes_[object];
    path.retained_bytes = retention.bytes;
    path.dominators = std::move(retention.dominators);
    path.root = from_.numbers[root_path.front().by];
    path.root_path = std::move(root_path);
    path.is_held_by_root =
        objects.size() == 1 && std::find(roots_.objects.begin(), roots_.objects.end(),
                                         objects.front()) != roots_.objects.end();
    return path;
  }

  const Snapshot& snapshot_;
  const WhyOptions& options_;
  const RootOrder& roots_;
  const RootOrder& from_;
  EdgeNames names_;
  RemainingEdges edges_;
  analyze::Graph graph_;
  FlatArray<std::uint64_t> bytes_;  // by object
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
