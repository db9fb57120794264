#include "report/analyze/suspects.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/analyze/accumulation.h"
#include "report/analyze/code_types.h"
#include "report/analyze/other_paths.h"
#include "report/analyze/own_of_runtime.h"
#include "report/analyze/roots.h"
#include "report/analyze/whole_trees.h"
#include "report/short_names.h"
#include "report/type_names.h"

namespace heapattach::analyze {

namespace {

using analyze::kNone;
using snapshot::ObjectIndex;
using snapshot::Snapshot;
using snapshot::TypeIndex;

constexpr std::uint64_t kShare = 10;      // a suspect retains a tenth of the live bytes
constexpr std::size_t kMostTypes = 5;     // suspects that are types
constexpr std::size_t kMostContents = 5;  // types shown of a suspect's contents

std::string one_named(std::string_view name) {
  const std::string_view size = size_in_name(name);
  return size.empty() ? fmt::format("one {}", name) : fmt::format("one block of {}", size);
}

std::string many_named(std::uint64_t count, std::string_view name) {
  const std::string_view size = size_in_name(name);
  return size.empty() ? fmt::format("{} {}", count, name)
                      : fmt::format("{} block{} of {}", count, count == 1 ? "" : "s", size);
}

// Adds up amounts by type.
class Tally {
 public:
  explicit Tally(std::size_t types) : of_(types) {}

  void add(TypeIndex type, std::uint64_t bytes) {
    ++of_[type].objects;
    of_[type].bytes += bytes;
  }
  // The types with a nonzero amount.
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
                const analyze::ShortestPaths& root_paths,
                EdgeNames& names,
                MergedPaths& merged)
      : snapshot_(snapshot),
        root_paths_(root_paths),
        names_(names),
        merged_(merged),
        roots_(holding.roots),
        graph_{snapshot.first_edge, snapshot.edges, holding.roots.objects},
        types_(holding.types),
        bytes_(holding.bytes),
        dominators_(holding.dominators),
        retained_(holding.retained),
        is_outermost_(holding.is_outermost),
        is_code_(types_of_code(snapshot)),
        own_(snapshot, names) {
    for (const ObjectIndex object : dominators_.order) result_.live_bytes += bytes_[object];
    result_.threshold = least_of(result_.live_bytes - code_bytes(snapshot, holding));
    is_covered_.resize(snapshot.objects.size());
  }

  Suspects run() && {
    add_places();
    cover_below();
    for (const bool of_code : {false, true}) {
      for (std::size_t i = 0; i < kMostTypes && add_type(of_code); ++i) cover_below();
    }
    result_.untyped_bytes = untyped_bytes();
    add_root_paths();
    for (Suspect& suspect : result_.found) suspect.is_own_of_runtime = is_own(suspect);
    nest();
    add_words();
    return std::move(result_);
  }

 private:
  void add_places() {
    for (const TreeOrPlace& found : whole_trees(
             snapshot_, dominators_, types_,
             analyze::find_accumulations(dominators_, retained_, types_, result_.threshold))) {
      const Accumulation& place = found.place;
      if (is_collectors(types_[place.object])) continue;
      auto gathered = gathered_below(place);
      const bool is_little = retained_[place.object] < least_of(result_.live_bytes);
      if (is_little && is_of_code(place.object, gathered)) continue;
      Suspect& suspect = result_.found.emplace_back();
      suspect.object = place.object;
      suspect.objects = place.links;
      suspect.is_tree = found.is_tree;
      suspect.retained_bytes = retained_[place.object];
      suspect.gathered = gathered;
      members_.push_back({place.object});
    }
  }

  // Fills in what each suspect consists of, and the sentence about it.
  void add_words() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Suspect& suspect = result_.found[i];
      choose_named(suspect);
      suspect.contents = contents_of(
          suspect.named == suspect.object ? members_[i] : std::vector<ObjectIndex>{suspect.named});
    }
    for (Suspect& suspect : result_.found) {
      if (suspect.within) suspect.part = part_of(result_.found[*suspect.within], suspect);
      suspect.sentence = sentence_of(suspect);
    }
  }

  static std::uint64_t least_of(std::uint64_t bytes) {
    return std::max<std::uint64_t>(bytes / kShare, 1);
  }

  // Whether the suspect is code or stacks, which come last because they are large in every program.
  [[nodiscard]] bool is_of_code(const Suspect& suspect) const {
    return suspect.is_type ? is_code_[types_[suspect.object]]
                           : is_of_code(suspect.object, suspect.gathered);
  }
  // Whether the object is code, and most of what it retains is code or the object itself.
  [[nodiscard]] bool is_of_code(ObjectIndex object, const std::optional<Content>& gathered) const {
    const bool is_mostly_itself = bytes_[object] >= retained_[object] / 2;
    return is_code_[types_[object]] && (is_mostly_itself || !gathered || is_code_[gathered->type]);
  }

  // Whether the type is one of the collector's own, which are not a leak.
  [[nodiscard]] bool is_collectors(TypeIndex type) const {
    return snapshot_.types[type].name.ends_with(" of the collector)");
  }

  // The type with the most bytes among the objects that `place` dominates directly; for a list,
  // among those that its links dominate directly.
  [[nodiscard]] std::optional<Content> gathered_below(const analyze::Accumulation& place) const {
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
    Content gathered = *most;
    // Counts all nodes of a tree, although some nodes dominate others.
    std::vector<bool> is_gathered(snapshot_.objects.size());
    gathered.objects = 0;
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (types_[object] != most->type || is_link[object]) continue;
      if (by == kNone || !(is_link[by] || is_gathered[by])) continue;
      is_gathered[object] = true;
      ++gathered.objects;
    }
    return gathered;
  }

  // Marks the members of all suspects, and everything that they dominate.
  void cover_below() {
    for (const auto& members : members_) {
      for (const ObjectIndex object : members) is_covered_[object] = true;
    }
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (by != kNone && is_covered_[by]) is_covered_[object] = true;
    }
  }

  // For each type, the bytes that its objects retain and no suspect retains, so that the holders of
  // a suspect do not report it a second time.
  [[nodiscard]] std::vector<std::uint64_t> retained_by_types() const {
    std::vector<std::uint64_t> sums(snapshot_.types.size());
    FlatArray<std::uint64_t> left;  // the rest, by object; empty: everything is left
    if (!result_.found.empty()) {
      FlatArray<std::uint64_t> bytes = bytes_;
      std::uint64_t sum = 0;
      for (const ObjectIndex object : dominators_.order) {
        if (is_covered_[object]) bytes[object] = 0;
        sum += bytes[object];
      }
      if (sum == 0) return sums;
      left = analyze::retained_bytes(dominators_, bytes);
    }
    const FlatArray<std::uint64_t>& retained = left.empty() ? retained_ : left;
    for (const ObjectIndex object : dominators_.order) {
      if (is_outermost_[object] && !is_covered_[object]) sums[types_[object]] += retained[object];
    }
    return sums;
  }

  // Adds the type whose objects retain most of the rest as a suspect, if that is enough. `of_code`
  // chooses between types of code and all other types.
  bool add_type(bool of_code) {
    std::vector<std::uint64_t> sums = retained_by_types();
    for (TypeIndex type = 0; type < sums.size(); ++type) {
      // Objects of unknown types have nothing in common that could be suspected.
      const bool is_unknown = is_collectors(type) || !snapshot_.types[type].is_known();
      if (is_unknown || is_code_[type] != of_code) sums[type] = 0;
    }
    const auto most = std::max_element(sums.begin(), sums.end());
    const std::uint64_t least = of_code ? least_of(result_.live_bytes) : result_.threshold;
    if (most == sums.end() || *most < least) return false;
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

  // The bytes that objects of unknown types retain outside all suspects, each byte once.
  [[nodiscard]] std::uint64_t untyped_bytes() const {
    std::vector<bool> is_below(snapshot_.objects.size());
    std::uint64_t sum = 0;
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      const TypeIndex type = types_[object];
      const bool is_unknown = !snapshot_.types[type].is_known() && !is_collectors(type);
      is_below[object] = is_unknown || (by != kNone && is_below[by]);
      if (is_below[object] && !is_covered_[object]) sum += bytes_[object];
    }
    return sum;
  }

  // The objects that the members retain, by type.
  [[nodiscard]] std::vector<Content> contents_of(const std::vector<ObjectIndex>& members) const {
    std::vector<bool> is_below(snapshot_.objects.size());
    for (const ObjectIndex object : members) is_below[object] = true;
    Tally tally(snapshot_.types.size());
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (by != kNone && is_below[by]) is_below[object] = true;
      if (is_below[object]) tally.add(types_[object], bytes_[object]);
    }
    std::vector<Content> contents = tally.contents();
    std::stable_sort(contents.begin(), contents.end(),
                     [](const Content& a, const Content& b) { return a.bytes > b.bytes; });
    contents.resize(std::min(contents.size(), kMostContents));
    return contents;
  }

  // Names a suspect's container in place of its buffer, because a reader knows the container.
  void choose_named(Suspect& suspect) const {
    suspect.named = suspect.object;
    suspect.named_retains = suspect.retained_bytes;
    if (suspect.within || suspect.is_type || !is_part(suspect.object)) return;
    ObjectIndex by = suspect.object;
    while (by != kNone && is_part(by)) by = dominators_.of[by];
    if (by == kNone) return;
    suspect.named = by;
    suspect.named_retains = retained_[by];
  }

  // Whether the object is a known part of another one, such as "(buffer of Array(Page))".
  [[nodiscard]] bool is_part(ObjectIndex object) const {
    return name_of(object).starts_with('(') && snapshot_.types[types_[object]].is_known();
  }

  void add_root_paths() {
    const OtherPaths others(snapshot_, graph_, roots_, root_paths_, names_);
    for (std::size_t i = 0; i < result_.found.size(); ++i) {
      Suspect& suspect = result_.found[i];
      MergedPaths::Main main = merged_.main_root_path(members_[i]);
      suspect.object = main.nearest;
      suspect.root_path_summary = std::move(main.summary);
      suspect.root_path = root_paths_.to(suspect.object);
      suspect.root = roots_.numbers[suspect.root_path.front().by];
      if (suspect.is_type) {
        suspect.also = others.to(merged_.group(members_[i]).front().objects);
      }
    }
  }

  // Lower ranks come first: the program's objects, those that its runtime keeps for itself, code.
  [[nodiscard]] unsigned rank_of(const Suspect& suspect) const {
    if (is_of_code(suspect)) return 2;
    return suspect.is_own_of_runtime ? 1 : 0;
  }
  [[nodiscard]] bool is_own(const Suspect& suspect) const {
    const bool gathers_own = !suspect.gathered || own_.is_own_type(suspect.gathered->type);
    return gathers_own && !is_of_code(suspect) &&
           suspect.retained_bytes < OwnOfRuntime::most_bytes(result_.live_bytes) &&
           own_.has_only_own(snapshot_.roots[suspect.root], suspect.root_path);
  }

  // The nearest suspect that retains this one.
  [[nodiscard]] std::optional<std::size_t> retainer_of(
      const Suspect& suspect, const std::unordered_map<ObjectIndex, std::size_t>& by_object) const {
    ObjectIndex by = suspect.is_type ? kNone : dominators_.of[suspect.object];
    for (; by != kNone; by = dominators_.of[by]) {
      const auto found = by_object.find(by);
      if (found != by_object.end()) return found->second;
    }
    return std::nullopt;
  }

  // Puts each suspect that another one retains behind that other one.
  void nest() {
    std::vector<Suspect>& found = result_.found;
    std::vector<std::size_t> largest_first(found.size());
    std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
    std::vector<unsigned> ranks(found.size());
    std::transform(found.begin(), found.end(), ranks.begin(),
                   [this](const Suspect& suspect) { return rank_of(suspect); });
    std::stable_sort(largest_first.begin(), largest_first.end(), [&](std::size_t a, std::size_t b) {
      if (ranks[a] != ranks[b]) return ranks[a] < ranks[b];
      return found[a].retained_bytes > found[b].retained_bytes;
    });
    std::unordered_map<ObjectIndex, std::size_t> by_object;
    for (const std::size_t i : largest_first) {
      // Code and types do not nest others: nearly everything is within some class.
      const bool may_be_around = !found[i].is_type && !is_of_code(found[i]);
      if (may_be_around) by_object.emplace(found[i].object, i);
    }
    std::vector<std::vector<std::size_t>> within(found.size() + 1);  // the last: within no other
    for (const std::size_t i : largest_first) {
      within[retainer_of(found[i], by_object).value_or(found.size())].push_back(i);
    }
    std::vector<Suspect> nested;
    std::vector<std::vector<ObjectIndex>> members;
    struct Open {
      std::size_t suspect;
      std::optional<std::size_t> within;
    };
    std::vector<Open> open;
    const auto open_all = [&](std::size_t around, std::optional<std::size_t> place) {
      for (auto at = within[around].rbegin(); at != within[around].rend(); ++at) {
        open.push_back({*at, place});
      }
    };
    open_all(found.size(), std::nullopt);
    while (!open.empty()) {
      const Open next = open.back();
      open.pop_back();
      nested.push_back(std::move(found[next.suspect]));
      members.push_back(std::move(members_[next.suspect]));
      nested.back().within = next.within;
      open_all(next.suspect, nested.size() - 1);
    }
    found = std::move(nested);
    members_ = std::move(members);
  }

  // The part of another suspect that this one is, "World.log's buffer": the object that a reader
  // knows, and the pointers from there on.
  [[nodiscard]] std::string part_of(const Suspect& around, const Suspect& suspect) {
    constexpr std::size_t kMostNames = 4;
    const analyze::RootPath& root_path = suspect.root_path;
    const auto whole =
        std::find_if(root_path.begin(), root_path.end(),
                     [&](const analyze::Step& step) { return step.object == around.object; });
    std::size_t at = static_cast<std::size_t>(whole - root_path.begin());
    if (at >= root_path.size()) return {};
    std::string text = holder_of(around);
    const bool is_buffer = is_part(suspect.object);
    std::size_t names = 0;
    for (++at; at < root_path.size(); ++at) {
      // A buffer is shown as such, not as the container's field that points to it.
      if (is_buffer && at + 1 == root_path.size() && names != 0) break;
      std::string name = names_.name(root_path[at - 1].object, root_path[at].by);
      name = name.substr(0, name.find("._M_"));
      if (++names > kMostNames) {
        text += "…";
        break;
      }
      if (!name.starts_with('[')) text += '.';
      text += name;
    }
    return is_buffer ? text + "'s buffer" : text;
  }

  [[nodiscard]] std::string name_of(ObjectIndex object) const {
    return shown_type_name(snapshot_.types[snapshot_.objects[object].type].name);
  }

  // The object that a reader knows: a buffer belongs to the last object on its path that is not a
  // buffer.
  [[nodiscard]] std::string holder_of(const Suspect& suspect) const {
    std::string text = name_of(suspect.object);
    if (!text.starts_with('(')) return text;
    for (auto step = suspect.root_path.rbegin(); step != suspect.root_path.rend(); ++step) {
      if (!name_of(step->object).starts_with('(')) return name_of(step->object);
    }
    return text;
  }

  // The suspect in words: "one Array(Page)", or for a buffer that is also referenced otherwise,
  // "the buffer of one Array(Page)".
  [[nodiscard]] std::string in_words(const Suspect& suspect) const {
    const std::string& name = name_of(suspect.named);
    const std::string holder = holder_of(suspect);
    if (suspect.named != suspect.object || holder == name) return one_named(name);
    const bool is_of_holder = name == fmt::format("(buffer of {})", holder);
    return is_of_holder ? "the buffer of one " + holder
                        : fmt::format("{} in one {}", one_named(name), holder);
  }

  // Whether the suspect is an object that is named by its size and retains only itself.
  [[nodiscard]] bool is_plain_block(const Suspect& suspect) const {
    return !size_in_name(name_of(suspect.named)).empty() &&
           suspect.named_retains == snapshot_.bytes_of(snapshot_.objects[suspect.named]);
  }

  [[nodiscard]] std::string sentence_of(const Suspect& suspect) const {
    const double percent = 100.0 * static_cast<double>(suspect.named_retains) /
                           static_cast<double>(result_.live_bytes);
    const std::string much =
        fmt::format("{} bytes, {:.0f} % of all live bytes", suspect.named_retains, percent);
    if (suspect.is_type && suspect.objects > 1) {
      return fmt::format("{} that no single object holds keep {}",
                         many_named(suspect.objects, name_of(suspect.object)), much) +
             own_note(suspect);
    }
    std::string text = suspect.part.empty() ? fmt::format("{} keeps {}", in_words(suspect), much)
                                            : fmt::format("{} keeps {}", suspect.part, much);
    if (suspect.objects == 1 && suspect.part.empty() && is_plain_block(suspect)) {
      text = fmt::format("{}, {:.0f} % of all live bytes", in_words(suspect), percent);
    }
    if (suspect.objects > 1) {
      text = fmt::format("a {} of {} keeps {}", suspect.is_tree ? "tree" : "list",
                         many_named(suspect.objects, name_of(suspect.object)), much);
    }
    if (suspect.within) text = "within it, " + text;
    if (suspect.gathered && suspect.gathered->objects > 1) {
      text += ": " + majority_in(suspect) + "through " +
              many_named(suspect.gathered->objects,
                         shown_type_name(snapshot_.types[suspect.gathered->type].name));
    }
    return text + own_note(suspect);
  }
  [[nodiscard]] static const char* own_note(const Suspect& suspect) {
    return suspect.is_own_of_runtime ? " (Ruby's own)" : "";
  }

  // "mostly 9000 char[], " for the type with half of the bytes or more. Empty if that is the type
  // directly below the suspect, or the suspect's own type.
  [[nodiscard]] std::string majority_in(const Suspect& suspect) const {
    if (suspect.contents.empty()) return {};
    const Content& largest = suspect.contents.front();
    const std::string name = shown_type_name(snapshot_.types[largest.type].name);
    const bool is_named = name == shown_type_name(snapshot_.types[suspect.gathered->type].name) ||
                          name == name_of(suspect.object) || name == name_of(suspect.named);
    if (is_named || largest.bytes < suspect.named_retains / 2) return {};
    return fmt::format("mostly {}, ", many_named(largest.objects, name));
  }

  const Snapshot& snapshot_;
  const analyze::ShortestPaths& root_paths_;
  EdgeNames& names_;
  MergedPaths& merged_;
  const RootOrder& roots_;
  Graph graph_;
  const FlatArray<TypeIndex>& types_;
  const FlatArray<std::uint64_t>& bytes_;
  const analyze::Dominators& dominators_;
  const FlatArray<std::uint64_t>& retained_;
  const std::vector<bool>& is_outermost_;
  const std::vector<bool> is_code_;  // by type
  const OwnOfRuntime own_;
  std::vector<bool> is_covered_;                   // by object: it belongs to a suspect
  std::vector<std::vector<ObjectIndex>> members_;  // by suspect: the outermost of its objects
  Suspects result_;
};

}  // namespace

Suspects find_suspects(const Snapshot& snapshot) {
  const Holding holding(snapshot);
  const analyze::Graph graph{snapshot.first_edge, snapshot.edges, holding.roots.objects};
  const analyze::ShortestPaths root_paths =
      analyze::shortest_root_paths(graph, holding.roots.path_order());
  EdgeNames names(snapshot);
  MergedPaths merged(snapshot, root_paths, holding.roots.numbers, names);
  return find_suspects(snapshot, holding, root_paths, names, merged);
}

Suspects find_suspects(const Snapshot& snapshot,
                       const Holding& holding,
                       const analyze::ShortestPaths& root_paths,
                       EdgeNames& names,
                       MergedPaths& merged) {
  return SuspectFinder(snapshot, holding, root_paths, names, merged).run();
}

}  // namespace heapattach::analyze
