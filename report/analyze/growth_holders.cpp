#include "report/analyze/growth_holders.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "report/analyze/dominators.h"
#include "report/analyze/edge_names.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/outermost.h"
#include "report/analyze/roots.h"
#include "report/analyze/type_sizes.h"

namespace heapattach::analyze {

namespace {

using snapshot::CountBy;
using snapshot::Object;
using snapshot::Snapshot;
using snapshot::TypeIndex;

constexpr std::size_t kMostFound = 3;
constexpr std::size_t kMostOthers = 3;
constexpr std::size_t kMostPaths = 3;  // besides the main one
constexpr std::uint64_t kShare = 10;   // a tenth of the new bytes, or it is not reported
// Fewer than kFew new containers give way to their contents, if there are at least kManyInOne new
// objects for each container.
constexpr std::uint64_t kFew = 10;
constexpr std::uint64_t kManyInOne = 10;

// Finds objects in an earlier snapshot; the addresses must ascend from call to call.
class Earlier {
 public:
  explicit Earlier(const Snapshot& snapshot) : snapshot_(snapshot) {}

  bool has(const Snapshot& of, const Object& object) {
    const auto& objects = snapshot_.objects;
    while (at_ < objects.size() && objects[at_].address < object.address) ++at_;
    if (at_ == objects.size() || objects[at_].address != object.address) return false;
    const Object& found = objects[at_];
    return found.is_reachable != 0 && snapshot_.bytes_of(found) == of.bytes_of(object) &&
           snapshot_.types[found.type].name == of.types[object.type].name;
  }

 private:
  const Snapshot& snapshot_;
  std::size_t at_ = 0;
};

class HolderFinder {
 public:
  HolderFinder(std::span<const Snapshot* const> snapshots,
               bool is_same_process,
               CountBy by,
               const Difference& difference,
               const std::vector<bool>& known_new)
      : last_(*snapshots.back()),
        roots_(last_),
        graph_{last_.first_edge, last_.edges, roots_.objects},
        dominators_(find_dominators(graph_)),
        difference_(difference),
        known_new_(known_new),
        rows_of_types_(rows_of_types(by)) {
    find_new(snapshots, is_same_process);
  }

  GrowthHolders run() && {
    for (const std::uint64_t bytes : new_bytes_) result_.new_bytes += bytes;
    const ShortestPaths root_paths = shortest_root_paths(graph_, roots_.path_order());
    EdgeNames names(last_);
    MergedPaths merged(last_, root_paths, roots_.numbers, names);
    while (result_.found.size() < kMostFound) {
      const std::optional<TypeIndex> row = next_row();
      if (!row) break;
      add(*row, root_paths, merged);
    }
    return std::move(result_);
  }

 private:
  // The new objects of a row, and the bytes that they retain and that are not reported yet.
  struct Share {
    std::uint64_t objects = 0;
    std::uint64_t retained = 0;
  };

  [[nodiscard]] std::vector<TypeIndex> rows_of_types(CountBy by) const {
    std::unordered_map<std::string_view, TypeIndex> by_name;
    for (std::size_t row = 0; row < difference_.rows.size(); ++row) {
      by_name.emplace(difference_.rows[row].type, static_cast<TypeIndex>(row));
    }
    std::vector<TypeIndex> rows;
    for (const snapshot::Type& type : last_.types) {
      const auto row = by_name.find(row_name(type, by));
      rows.push_back(row == by_name.end() ? none() : row->second);
    }
    return rows;
  }

  // The group of everything that is not new, or whose type has no more objects than before.
  [[nodiscard]] TypeIndex none() const { return static_cast<TypeIndex>(difference_.rows.size()); }

  void find_new(std::span<const Snapshot* const> snapshots, bool is_same_process) {
    const bool has_middle = snapshots.size() > 2;
    Earlier first(*snapshots.front());
    Earlier middle(*snapshots[snapshots.size() / 2]);
    groups_.assign(last_.objects.size(), none());
    new_bytes_.assign(last_.objects.size(), 0);
    for (ObjectIndex i = 0; i < last_.objects.size(); ++i) {
      const Object& object = last_.objects[i];
      const TypeIndex row = rows_of_types_[object.type];
      if (object.is_reachable == 0) continue;
      const bool has_more = row != none() && difference_.rows[row].grown_objects() > 0;
      const bool is_new = is_same_process ? is_known_new(i) || !first.has(last_, object) : has_more;
      if (!is_new || (is_same_process && has_middle && !middle.has(last_, object))) continue;
      new_bytes_[i] = last_.bytes_of(object);
      if (has_more) groups_[i] = row;
    }
  }

  [[nodiscard]] bool is_known_new(ObjectIndex object) const {
    return !known_new_.empty() && known_new_[object];
  }

  [[nodiscard]] std::vector<Share> shares() const {
    const FlatArray<std::uint64_t> retained = retained_bytes(dominators_, new_bytes_);
    const std::vector<bool> is_outermost =
        outermost_of_groups(dominators_, groups_, difference_.rows.size() + 1);
    std::vector<Share> shares(difference_.rows.size() + 1);
    for (const ObjectIndex object : dominators_.order) {
      Share& share = shares[groups_[object]];
      ++share.objects;
      if (is_outermost[object]) share.retained += retained[object];
    }
    shares.back() = {};
    return shares;
  }

  // The row whose new objects retain most. A container that is itself new gives way to the many new
  // objects in it, which are more informative.
  [[nodiscard]] std::optional<TypeIndex> next_row() const {
    const std::vector<Share> all = shares();
    const auto less = [](const Share& a, const Share& b) { return a.retained < b.retained; };
    const auto best = std::max_element(all.begin(), all.end(), less);
    if (best->retained == 0 || best->retained < result_.new_bytes / kShare) return std::nullopt;
    auto most = best;
    for (auto other = all.begin(); best->objects < kFew && other != all.end(); ++other) {
      const bool is_most_of_it = other->retained * 2 >= best->retained;
      const bool are_many = other->objects >= best->objects * kManyInOne;
      const bool is_first = most == best || most->retained < other->retained;
      if (is_most_of_it && are_many && is_first) most = other;
    }
    return static_cast<TypeIndex>(most - all.begin());
  }

  void add(TypeIndex row, const ShortestPaths& root_paths, MergedPaths& merged) {
    std::vector<ObjectIndex> objects;
    GrowthHolder holder;
    for (ObjectIndex i = 0; i < groups_.size(); ++i) {
      if (groups_[i] == row) objects.push_back(i);
    }
    holder.objects = objects.size();
    holder.type = name_of_row(objects.front());
    auto groups = merged.group(objects);
    // Without a path, there is nothing to report, but the row still has to be removed below.
    if (!groups.empty()) {
      const MergedPaths::Group& main = groups.front();
      holder.through = main.objects.size();
      holder.summary = main.summary;
      holder.root_path = root_paths.to(main.objects.front());
      holder.root = roots_.numbers[holder.root_path.front().by];
      add_other_paths(std::span(groups).subspan(1), holder);
    }
    cover(row, holder);
    if (!groups.empty()) result_.found.push_back(std::move(holder));
  }

  static void add_other_paths(std::span<MergedPaths::Group> groups, GrowthHolder& holder) {
    holder.left_out = holder.objects - holder.through;
    for (MergedPaths::Group& group : groups.first(std::min(groups.size(), kMostPaths))) {
      holder.left_out -= group.objects.size();
      holder.other_paths.push_back({group.objects.size(), std::move(group.summary)});
    }
  }

  // Removes the row and what it retains from what is still to be reported.
  void cover(TypeIndex row, GrowthHolder& holder) {
    std::vector<bool> is_covered(groups_.size());
    std::vector<RetainedNew> by_row(difference_.rows.size());
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      is_covered[object] = groups_[object] == row || (by != kNone && is_covered[by]);
      if (!is_covered[object]) continue;
      const std::uint64_t bytes = std::exchange(new_bytes_[object], 0);
      holder.retained_bytes += bytes;
      if (bytes != 0) holder.members.push_back(object);
      const TypeIndex of = rows_of_types_[last_.objects[object].type];
      if (bytes == 0 || of == none() || of == row) continue;
      by_row[of].objects += 1;
      by_row[of].bytes += bytes;
    }
    add_others(std::move(by_row), holder);
    for (ObjectIndex i = 0; i < groups_.size(); ++i) {
      if (is_covered[i] || groups_[i] == row) groups_[i] = none();
    }
  }

  void add_others(std::vector<RetainedNew> by_row, GrowthHolder& holder) const {
    for (std::size_t of = 0; of < by_row.size(); ++of) {
      if (by_row[of].objects == 0) continue;
      by_row[of].type = difference_.rows[of].type;
      holder.others.push_back(std::move(by_row[of]));
    }
    std::stable_sort(holder.others.begin(), holder.others.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    holder.others.resize(std::min(holder.others.size(), kMostOthers));
  }

  [[nodiscard]] std::string name_of_row(ObjectIndex object) const {
    return difference_.rows[rows_of_types_[last_.objects[object].type]].type;
  }

  const Snapshot& last_;
  RootOrder roots_;
  Graph graph_;
  Dominators dominators_;
  const Difference& difference_;
  const std::vector<bool>& known_new_;    // by object; empty: none
  std::vector<TypeIndex> rows_of_types_;  // none() for those without a row
  std::vector<TypeIndex> groups_;         // by object: the row, if the object is new; else none()
  std::vector<std::uint64_t> new_bytes_;  // by object; 0: not new, or reported already
  GrowthHolders result_;
};

}  // namespace

bool knows_holders(const Snapshot& snapshot) {
  return !snapshot.first_edge.empty() && !snapshot.roots.empty();
}

void add_retained(std::span<const Snapshot* const> snapshots, CountBy by, Difference& difference) {
  std::vector<std::string_view> names;
  for (const TypeGrowth& row : difference.rows) names.emplace_back(row.type);
  const auto before = retained_by_rows(*snapshots.front(), by, names);
  const auto after = retained_by_rows(*snapshots.back(), by, names);
  for (std::size_t row = 0; row < names.size(); ++row) {
    difference.rows[row].retained = RetainedGrowth{before[row], after[row]};
  }
  difference.has_retained = true;
}

GrowthHolders find_growth_holders(std::span<const Snapshot* const> snapshots,
                                  bool is_same_process,
                                  CountBy by,
                                  const Difference& difference,
                                  const std::vector<bool>& known_new) {
  return HolderFinder(snapshots, is_same_process, by, difference, known_new).run();
}

}  // namespace heapattach::analyze
