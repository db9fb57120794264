#include "report/analyze/difference.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace heapattach::analyze {

namespace {

using snapshot::CountBy;
using snapshot::Object;
using snapshot::Snapshot;
using RowIndex = std::uint32_t;

// Numbers the names of types in several snapshots as rows of one table.
class Rows {
 public:
  // The row for each type of `snapshot`.
  std::vector<RowIndex> of(const Snapshot& snapshot, CountBy by) {
    std::vector<RowIndex> rows;
    rows.reserve(snapshot.types.size());
    for (const snapshot::Type& type : snapshot.types) {
      const auto next = static_cast<RowIndex>(names_.size());
      const auto [it, is_new] = numbers_.try_emplace(row_name(type, by), next);
      if (is_new) names_.push_back(it->first);
      rows.push_back(it->second);
    }
    return rows;
  }
  [[nodiscard]] const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::unordered_map<std::string_view, RowIndex> numbers_;  // of the snapshots' own strings
  std::vector<std::string_view> names_;
};

// One snapshot, walked by ascending addresses.
class Walk {
 public:
  Walk(const Snapshot& snapshot, std::vector<RowIndex> rows)
      : snapshot_(snapshot), rows_(std::move(rows)) {}

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Object& object : snapshot_.objects) {
      if (object.is_reachable != 0) visit(object, row(object), snapshot_.bytes_of(object));
    }
  }

  // Whether this snapshot has a live object of the same row and size at `address`. Call with
  // ascending addresses.
  bool has(std::uint64_t address, RowIndex of_row, std::uint64_t bytes) {
    const auto& objects = snapshot_.objects;
    while (at_ < objects.size() && objects[at_].address < address) ++at_;
    if (at_ == objects.size() || objects[at_].address != address) return false;
    const Object& found = objects[at_];
    return found.is_reachable != 0 && row(found) == of_row && snapshot_.bytes_of(found) == bytes;
  }

 private:
  [[nodiscard]] RowIndex row(const Object& object) const { return rows_[object.type]; }

  const Snapshot& snapshot_;
  std::vector<RowIndex> rows_;  // by type
  std::size_t at_ = 0;
};

void add(const Amount& amount, Amount& to) {
  to.objects += amount.objects;
  to.bytes += amount.bytes;
}

void add_totals(Difference& difference) {
  TypeGrowth& total = difference.total;
  for (const TypeGrowth& row : difference.rows) {
    add(row.before, total.before);
    add(row.after, total.after);
    add(row.stayed, total.stayed);
    add(row.kept, total.kept);
  }
}

// Drops types without objects in both the first and the last snapshot.
void drop_empty(std::vector<TypeGrowth>& rows) {
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const TypeGrowth& row) { return row.is_new() && row.is_gone(); }),
             rows.end());
}

}  // namespace

Amount reachable(const Snapshot& snapshot) {
  Amount sum;
  for (const Object& object : snapshot.objects) {
    if (object.is_reachable != 0) sum.add(snapshot.bytes_of(object));
  }
  return sum;
}

Difference compare(std::span<const Snapshot* const> snapshots, CountBy by) {
  Rows names;
  std::vector<Walk> walks;
  walks.reserve(snapshots.size());
  for (const Snapshot* snapshot : snapshots) walks.emplace_back(*snapshot, names.of(*snapshot, by));

  Difference difference;
  std::vector<TypeGrowth>& rows = difference.rows;
  rows.resize(names.names().size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].type = names.names()[i];

  Walk& first = walks.front();
  Walk* const middle = walks.size() > 2 ? &walks[1] : nullptr;
  first.for_each(
      [&](const Object&, RowIndex row, std::uint64_t bytes) { rows[row].before.add(bytes); });
  walks.back().for_each([&](const Object& object, RowIndex row, std::uint64_t bytes) {
    rows[row].after.add(bytes);
    const bool was_there = first.has(object.address, row, bytes);
    if (was_there) rows[row].stayed.add(bytes);
    if (middle == nullptr) return;
    const bool was_between = middle->has(object.address, row, bytes);
    if (was_between && !was_there) rows[row].kept.add(bytes);
  });
  drop_empty(rows);
  std::sort(rows.begin(), rows.end(),
            [](const TypeGrowth& a, const TypeGrowth& b) { return a.type < b.type; });
  add_totals(difference);
  return difference;
}

}  // namespace heapattach::analyze
