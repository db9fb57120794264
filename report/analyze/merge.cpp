#include "report/analyze/merge.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "report/type_names.h"

namespace heapattach::analyze {

namespace {

// The median; of two middle values, the lower one, because it is a measured value.
std::uint64_t median_of(std::vector<std::uint64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

// The distance from the median beyond which a value is far. None if there are too few values.
std::optional<std::uint64_t> far_from(std::uint64_t median, std::vector<std::uint64_t> values) {
  constexpr std::size_t kFewest = 3;
  constexpr std::uint64_t kTimesUsual = 5;
  constexpr std::uint64_t kLeastBytes = std::uint64_t{64} << 10;
  if (values.size() < kFewest) return std::nullopt;
  for (std::uint64_t& value : values) value = distance(value, median);
  return std::max({kTimesUsual * median_of(values), median / 2, kLeastBytes - 1});
}

// Marks the cells that are far. Adds cells for snapshots that are far because they lack the type.
void judge(const std::vector<MergedSnapshot>& snapshots, MergedRow& row) {
  std::vector<std::uint64_t> values(snapshots.size());
  std::vector<bool> has_cell(snapshots.size());
  for (const MergedCell& cell : row.cells) {
    values[cell.snapshot] = cell.bytes;
    has_cell[cell.snapshot] = true;
    row.objects += cell.objects;
    row.bytes += cell.bytes;
    row.most_bytes = std::max(row.most_bytes, cell.bytes);
  }
  row.snapshots = row.cells.size();
  std::vector<std::uint64_t> known;
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    if (snapshots[i].is_read) known.push_back(values[i]);
  }
  row.median_bytes = median_of(known);
  const auto limit = far_from(row.median_bytes, std::move(known));
  if (!limit) return;
  for (MergedCell& cell : row.cells) {
    cell.is_far = distance(cell.bytes, row.median_bytes) > *limit;
  }
  if (row.median_bytes <= *limit) return;
  for (std::uint32_t i = 0; i < snapshots.size(); ++i) {
    if (snapshots[i].is_read && !has_cell[i]) row.cells.push_back({i, true, 0, 0});
  }
}

void sort_rows(std::vector<MergedRow>& rows, snapshot::SortBy by) {
  std::sort(rows.begin(), rows.end(), [by](const MergedRow& a, const MergedRow& b) {
    if (by == snapshot::SortBy::Name) return a.type < b.type;
    if (by == snapshot::SortBy::Count && a.objects != b.objects) return a.objects > b.objects;
    return std::tie(b.bytes, a.type) < std::tie(a.bytes, b.type);
  });
}

bool is_chosen(const MergedRow& row, const snapshot::RowChoice& choice) {
  if (row.bytes < choice.min_bytes) return false;
  return choice.types.empty() ||
         std::any_of(choice.types.begin(), choice.types.end(),
                     [&](const std::string& glob) { return matches_type(glob, row.type); });
}

}  // namespace

bool MergedTable::is_complete() const {
  return std::all_of(snapshots.begin(), snapshots.end(),
                     [](const MergedSnapshot& one) { return one.is_read && one.complete; });
}

void Merge::add(MergedSnapshot snapshot, const snapshot::CountTable& counts) {
  const auto number = static_cast<std::uint32_t>(table_.snapshots.size());
  snapshot.objects = counts.objects;
  snapshot.bytes = counts.bytes;
  snapshot.complete = counts.complete;
  snapshot.reason = counts.reason;
  table_.snapshots.push_back(std::move(snapshot));
  table_.total.cells.push_back({number, false, counts.objects, counts.bytes});
  ++read_;
  for (const snapshot::CountRow& row : counts.rows) {
    if (!row.is_reachable || row.objects == 0) continue;
    const auto [at, is_new] = rows_.try_emplace(row.type, table_.rows.size());
    if (is_new) table_.rows.emplace_back().type = row.type;
    table_.rows[at->second].cells.push_back({number, false, row.objects, row.bytes});
  }
}

void Merge::add_unread(std::string source, std::string reason) {
  MergedSnapshot snapshot;
  snapshot.source = std::move(source);
  snapshot.is_read = false;
  snapshot.reason = std::move(reason);
  table_.snapshots.push_back(std::move(snapshot));
}

MergedTable Merge::finish(const snapshot::RowChoice& choice) && {
  MergedTable table = std::move(table_);
  judge(table.snapshots, table.total);
  for (MergedRow& row : table.rows) judge(table.snapshots, row);
  const std::size_t all = table.rows.size();
  std::erase_if(table.rows, [&](const MergedRow& row) { return !is_chosen(row, choice); });
  sort_rows(table.rows, choice.sort);
  if (choice.top && *choice.top < table.rows.size()) table.rows.resize(*choice.top);
  table.left_out_rows = all - table.rows.size();
  return table;
}

}  // namespace heapattach::analyze
