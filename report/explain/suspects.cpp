#include "report/explain/suspects.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/explain/roots.h"
#include "report/graph/accumulation.h"

namespace heapattach::explain {

namespace {

using graph::kNone;
using snapshot::ObjectIndex;
using snapshot::Snapshot;
using snapshot::TypeIndex;

constexpr std::uint64_t kShare = 10;      // a suspect retains a tenth of what is alive
constexpr std::size_t kMostTypes = 5;     // suspects that are types
constexpr std::size_t kMostContents = 5;  // types shown of what is gathered

// What there is of each type.
class Tally {
 public:
  explicit Tally(std::size_t types) : of_(types) {}

  void add(TypeIndex type, std::uint64_t bytes) {
    ++of_[type].objects;
    of_[type].bytes += bytes;
  }
  // Of the types that there is something of.
  [[nodiscard]] std::vector<Content> contents() const {
    std::vector<Content> found;
    for (TypeIndex type = 0; type < of_.size(); ++type) {
      if (of_[type].objects != 0) found.push_back({type, of_[type].objects, of_[type].bytes});
    }
    return found;
  }

 private:
  std::vector<Content> of_;
};

class SuspectFinder {
 public:
  SuspectFinder(const Snapshot& snapshot,
                const Holding& holding,
                const graph::ShortestWays& ways,
                MergedWays& merged)
      : snapshot_(snapshot),
        ways_(ways),
        merged_(merged),
        roots_(holding.roots),
        types_(holding.types),
        bytes_(holding.bytes),
        dominators_(holding.dominators),
        retained_(holding.retained),
        is_outermost_(holding.is_outermost) {
    for (const ObjectIndex object : dominators_.order) result_.live_bytes += bytes_[object];
    result_.threshold = std::max<std::uint64_t>(result_.live_bytes / kShare, 1);
    is_covered_.resize(snapshot.objects.size());
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
    Tally tally(snapshot_.types.size());
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (by == kNone || !is_link[by]) continue;
      if (place.links > 1 && types_[object] == types_[place.object]) {
        is_link[object] = true;
        continue;
      }
      tally.add(types_[object], retained_[object]);
    }
    const std::vector<Content> found = tally.contents();
    const auto most =
        std::max_element(found.begin(), found.end(),
                         [](const Content& a, const Content& b) { return a.bytes < b.bytes; });
    if (most == found.end()) return std::nullopt;
    return *most;
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

  // By type what its objects retain of what no suspect retains: that is not told a second time of
  // those that hold the suspect.
  [[nodiscard]] std::vector<std::uint64_t> retained_by_types() const {
    std::vector<std::uint64_t> sums(snapshot_.types.size());
    std::vector<std::uint64_t> left;  // of the rest, by object; empty: all is left
    if (!result_.found.empty()) {
      std::vector<std::uint64_t> bytes = bytes_;
      std::uint64_t sum = 0;
      for (const ObjectIndex object : dominators_.order) {
        if (is_covered_[object]) bytes[object] = 0;
        sum += bytes[object];
      }
      if (sum == 0) return sums;
      left = graph::retained_bytes(dominators_, bytes);
    }
    const std::vector<std::uint64_t>& retained = left.empty() ? retained_ : left;
    for (const ObjectIndex object : dominators_.order) {
      if (is_outermost_[object] && !is_covered_[object]) sums[types_[object]] += retained[object];
    }
    return sums;
  }

  // The type whose objects retain most of what is not covered yet, if that is enough.
  bool add_type() {
    std::vector<std::uint64_t> sums = retained_by_types();
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
      Tally tally(snapshot_.types.size());
      for (const ObjectIndex object : dominators_.order) {
        const ObjectIndex by = dominators_.of[object];
        if (by != kNone && is_below[by]) is_below[object] = true;
        if (is_below[object]) tally.add(types_[object], bytes_[object]);
      }
      auto& contents = result_.found[i].contents;
      contents = tally.contents();
      std::stable_sort(contents.begin(), contents.end(),
                       [](const Content& a, const Content& b) { return a.bytes > b.bytes; });
      contents.resize(std::min(contents.size(), kMostContents));
    }
  }

  void add_ways() {
    for (std::size_t i = 0; i < result_.found.size(); ++i) {
      Suspect& suspect = result_.found[i];
      MergedWays::Main main = merged_.main_way(members_[i]);
      suspect.object = main.nearest;
      suspect.way_summary = std::move(main.summary);
      suspect.way = ways_.to(suspect.object);
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
  const graph::ShortestWays& ways_;
  MergedWays& merged_;
  const RootOrder& roots_;
  const std::vector<TypeIndex>& types_;
  const std::vector<std::uint64_t>& bytes_;
  const graph::Dominators& dominators_;
  const std::vector<std::uint64_t>& retained_;
  const std::vector<bool>& is_outermost_;
  std::vector<bool> is_covered_;                   // belongs to a suspect
  std::vector<std::vector<ObjectIndex>> members_;  // by suspect: the outermost of its objects
  Suspects result_;
};

}  // namespace

Suspects find_suspects(const Snapshot& snapshot) {
  const Holding holding(snapshot);
  const graph::Graph graph{snapshot.first_edge, snapshot.edges, holding.roots.objects};
  const graph::ShortestWays ways = graph::shortest_ways(graph, holding.roots.quality_ends);
  EdgeNames names(snapshot);
  MergedWays merged(snapshot, ways, holding.roots.numbers, names);
  return find_suspects(snapshot, holding, ways, merged);
}

Suspects find_suspects(const Snapshot& snapshot,
                       const Holding& holding,
                       const graph::ShortestWays& ways,
                       MergedWays& merged) {
  return SuspectFinder(snapshot, holding, ways, merged).run();
}

}  // namespace heapattach::explain
