#include "report/explain/suspects.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/explain/merged_ways.h"
#include "report/explain/roots.h"
#include "report/graph/accumulation.h"
#include "report/graph/outermost.h"

namespace heapattach::explain {

namespace {

using graph::kNone;
using snapshot::ObjectIndex;
using snapshot::Snapshot;
using snapshot::TypeIndex;

constexpr std::uint64_t kShare = 10;      // a suspect retains a tenth of what is alive
constexpr std::size_t kMostTypes = 5;     // suspects that are types
constexpr std::size_t kMostContents = 5;  // types shown of what is gathered

// Types that share a name as one: the first of them.
std::vector<TypeIndex> types_by_name(const Snapshot& snapshot) {
  std::unordered_map<std::string, TypeIndex> first;
  std::vector<TypeIndex> types;
  for (const snapshot::Type& type : snapshot.types) {
    types.push_back(
        first.try_emplace(type.name, static_cast<TypeIndex>(types.size())).first->second);
  }
  return types;
}

class SuspectFinder {
 public:
  explicit SuspectFinder(const Snapshot& snapshot)
      : snapshot_(snapshot), roots_(snapshot), names_(snapshot) {
    const std::vector<TypeIndex> by_name = types_by_name(snapshot);
    bytes_.reserve(snapshot.objects.size());
    types_.reserve(snapshot.objects.size());
    for (const snapshot::Object& object : snapshot.objects) {
      bytes_.push_back(snapshot.bytes_of(object));
      types_.push_back(by_name[object.type]);
    }
    graph_ = {snapshot.first_edge, snapshot.edges, roots_.objects};
    dominators_ = graph::find_dominators(graph_);
    retained_ = graph::retained_bytes(dominators_, bytes_);
    for (const ObjectIndex object : dominators_.order) result_.live_bytes += bytes_[object];
    result_.threshold = std::max<std::uint64_t>(result_.live_bytes / kShare, 1);
    is_covered_.resize(snapshot.objects.size());
    is_outermost_ = graph::outermost_of_groups(dominators_, types_, snapshot.types.size());
  }

  Suspects run() && {
    for (const auto& place :
         graph::find_accumulations(dominators_, retained_, types_, result_.threshold)) {
      Suspect& suspect = result_.found.emplace_back();
      suspect.object = place.object;
      suspect.objects = place.links;
      suspect.retained_bytes = retained_[place.object];
      suspect.gathered = gathered_below(place);
      members_.push_back({place.object});
    }
    cover_below();
    for (std::size_t i = 0; i < kMostTypes && add_type(); ++i) cover_below();
    add_contents();
    add_ways();
    for (Suspect& suspect : result_.found) suspect.sentence = sentence_of(suspect);
    std::stable_sort(
        result_.found.begin(), result_.found.end(),
        [](const Suspect& a, const Suspect& b) { return a.retained_bytes > b.retained_bytes; });
    return std::move(result_);
  }

 private:
  // The type that most of what the object dominates at once is of; of a list, what hangs on links.
  [[nodiscard]] std::optional<Content> gathered_below(const graph::Accumulation& place) const {
    std::vector<bool> is_link(snapshot_.objects.size());
    is_link[place.object] = true;
    std::map<TypeIndex, Content> by_type;
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (by == kNone || !is_link[by]) continue;
      if (place.links > 1 && types_[object] == types_[place.object]) {
        is_link[object] = true;
        continue;
      }
      Content& content =
          by_type.try_emplace(types_[object], Content{types_[object], 0, 0}).first->second;
      ++content.objects;
      content.bytes += retained_[object];
    }
    const auto most = std::max_element(
        by_type.begin(), by_type.end(),
        [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    if (most == by_type.end()) return std::nullopt;
    return most->second;
  }

  // Marks what the members of the last suspects dominate, and these.
  void cover_below() {
    for (const auto& members : members_) {
      for (const ObjectIndex object : members) is_covered_[object] = true;
    }
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (by != kNone && is_covered_[by]) is_covered_[object] = true;
    }
  }

  // The type whose objects retain most of what is not covered yet, if that is enough.
  bool add_type() {
    // What a suspect retains already is not told a second time of those that hold the suspect.
    std::vector<std::uint64_t> bytes = bytes_;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = is_covered_[i] ? 0 : bytes[i];
    const std::vector<std::uint64_t> retained = graph::retained_bytes(dominators_, bytes);
    std::vector<std::uint64_t> sums(snapshot_.types.size());
    for (const ObjectIndex object : dominators_.order) {
      if (is_outermost_[object] && !is_covered_[object]) sums[types_[object]] += retained[object];
    }
    result_.untyped_bytes = 0;
    for (TypeIndex type = 0; type < sums.size(); ++type) {
      // Objects of unknown types have nothing in common that could be suspected.
      if (!snapshot_.types[type].is_known()) result_.untyped_bytes += std::exchange(sums[type], 0);
    }
    const auto most = std::max_element(sums.begin(), sums.end());
    if (most == sums.end() || *most < result_.threshold) return false;
    const auto type = static_cast<TypeIndex>(most - sums.begin());
    Suspect& suspect = result_.found.emplace_back();
    suspect.is_type = true;
    suspect.retained_bytes = *most;
    auto& members = members_.emplace_back();
    suspect.objects = 0;
    for (const ObjectIndex object : dominators_.order) {
      if (is_covered_[object] || types_[object] != type) continue;
      ++suspect.objects;
      if (is_outermost_[object]) members.push_back(object);
    }
    suspect.object = members.front();
    return true;
  }

  // What each suspect would take with it, by type.
  void add_contents() {
    for (std::size_t i = 0; i < result_.found.size(); ++i) {
      std::vector<bool> is_below(snapshot_.objects.size());
      for (const ObjectIndex object : members_[i]) is_below[object] = true;
      std::map<TypeIndex, Content> by_type;
      for (const ObjectIndex object : dominators_.order) {
        const ObjectIndex by = dominators_.of[object];
        if (by != kNone && is_below[by]) is_below[object] = true;
        if (!is_below[object]) continue;
        Content& content =
            by_type.try_emplace(types_[object], Content{types_[object], 0, 0}).first->second;
        ++content.objects;
        content.bytes += snapshot_.bytes_of(snapshot_.objects[object]);
      }
      auto& contents = result_.found[i].contents;
      for (const auto& [type, content] : by_type) contents.push_back(content);
      std::stable_sort(contents.begin(), contents.end(),
                       [](const Content& a, const Content& b) { return a.bytes > b.bytes; });
      contents.resize(std::min(contents.size(), kMostContents));
    }
  }

  void add_ways() {
    const graph::ShortestWays ways = graph::shortest_ways(graph_);
    MergedWays merged(snapshot_, ways, roots_.numbers, names_);
    for (std::size_t i = 0; i < result_.found.size(); ++i) {
      Suspect& suspect = result_.found[i];
      const auto groups = merged.group(members_[i]);
      suspect.object = groups.front().objects.front();
      suspect.way_summary = groups.front().summary;
      suspect.way = ways.to(suspect.object);
      suspect.root = roots_.numbers[suspect.way.front().by];
    }
  }

  [[nodiscard]] const std::string& name_of(ObjectIndex object) const {
    return snapshot_.types[snapshot_.objects[object].type].name;
  }

  // The object that a reader knows: a buffer belongs to the last on its way that is none.
  [[nodiscard]] std::string holder_of(const Suspect& suspect) const {
    std::string text = name_of(suspect.object);
    if (!text.starts_with('(')) return text;
    for (auto step = suspect.way.rbegin(); step != suspect.way.rend(); ++step) {
      if (!name_of(step->object).starts_with('(')) return name_of(step->object);
    }
    return text;
  }

  [[nodiscard]] std::string sentence_of(const Suspect& suspect) const {
    const double percent = 100.0 * static_cast<double>(suspect.retained_bytes) /
                           static_cast<double>(result_.live_bytes);
    const std::string much =
        fmt::format("{} bytes, {:.0f} % of all that is alive", suspect.retained_bytes, percent);
    if (suspect.is_type && suspect.objects > 1) {
      return fmt::format("{} {} that no single object holds keep {}", suspect.objects,
                         name_of(suspect.object), much);
    }
    std::string text = fmt::format("one {} keeps {}", holder_of(suspect), much);
    if (suspect.objects > 1) {
      text =
          fmt::format("a list of {} {} keeps {}", suspect.objects, name_of(suspect.object), much);
    }
    if (suspect.gathered && suspect.gathered->objects > 1) {
      text += fmt::format(": mostly {} {}", suspect.gathered->objects,
                          snapshot_.types[suspect.gathered->type].name);
    }
    return text;
  }

  const Snapshot& snapshot_;
  RootOrder roots_;
  EdgeNames names_;
  std::vector<TypeIndex> types_;      // by object
  std::vector<std::uint64_t> bytes_;  // by object
  graph::Graph graph_;
  graph::Dominators dominators_;
  std::vector<std::uint64_t> retained_;
  std::vector<bool> is_outermost_;                 // no object of its type dominates it
  std::vector<bool> is_covered_;                   // belongs to a suspect
  std::vector<std::vector<ObjectIndex>> members_;  // by suspect: the outermost of its objects
  Suspects result_;
};

}  // namespace

Suspects find_suspects(const Snapshot& snapshot) {
  return SuspectFinder(snapshot).run();
}

}  // namespace heapattach::explain
