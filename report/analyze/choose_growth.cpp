#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "report/analyze/difference.h"
#include "report/type_names.h"

namespace heapattach::analyze {

namespace {

using snapshot::RowChoice;
using snapshot::SortBy;

void add(const Amount& amount, Amount& to) {
  to.objects += amount.objects;
  to.bytes += amount.bytes;
}

std::int64_t bytes_of(const TypeGrowth& row, GrowthOrder order) {
  return order == GrowthOrder::ByKept ? static_cast<std::int64_t>(row.kept.bytes)
                                      : row.grown_bytes();
}

std::int64_t objects_of(const TypeGrowth& row, GrowthOrder order) {
  return order == GrowthOrder::ByKept ? static_cast<std::int64_t>(row.kept.objects)
                                      : row.grown_objects();
}

// The number by which rows are ordered if the order is that of retained bytes.
std::int64_t weight_of(const TypeGrowth& row, GrowthOrder order) {
  const bool has_more = row.retained && row.grown_objects() > 0;
  return order == GrowthOrder::ByKept || !has_more ? bytes_of(row, order) : row.retained->grown();
}

bool has_change(const TypeGrowth& row) {
  return row.before != row.after || row.kept.objects != 0;
}

bool is_chosen(const TypeGrowth& row, const RowChoice& choice, GrowthOrder order) {
  const auto bytes = static_cast<std::uint64_t>(std::abs(bytes_of(row, order)));
  if (!has_change(row) || bytes < choice.min_bytes) return false;
  return choice.types.empty() ||
         std::any_of(choice.types.begin(), choice.types.end(),
                     [&](const std::string& glob) { return matches_type(glob, row.type); });
}

void sort_rows(std::vector<TypeGrowth>& rows, SortBy sort, GrowthOrder order) {
  // Sorts the largest rows first, except by name. Rows without kept objects are sorted by growth.
  const auto key = [order, sort](const TypeGrowth& row) {
    const auto first = sort == SortBy::Count      ? objects_of(row, order)
                       : sort == SortBy::Retained ? weight_of(row, order)
                                                  : bytes_of(row, order);
    const auto second = sort == SortBy::Count ? bytes_of(row, order) : objects_of(row, order);
    return std::tuple(-first, -second, -row.grown_bytes());
  };
  std::sort(rows.begin(), rows.end(), [&](const TypeGrowth& a, const TypeGrowth& b) {
    if (sort == SortBy::Name || key(a) == key(b)) return a.type < b.type;
    return key(a) < key(b);
  });
}

}  // namespace

Difference choose_growth(Difference difference, const RowChoice& choice, GrowthOrder order) {
  sort_rows(difference.rows, choice.sort, order);
  std::vector<TypeGrowth> chosen;
  for (TypeGrowth& row : difference.rows) {
    if (is_chosen(row, choice, order) && chosen.size() < choice.top.value_or(~std::size_t{0})) {
      chosen.push_back(std::move(row));
      continue;
    }
    difference.left_out_rows += 1;
    add(row.before, difference.left_out.before);
    add(row.after, difference.left_out.after);
    add(row.stayed, difference.left_out.stayed);
    add(row.kept, difference.left_out.kept);
  }
  difference.rows = std::move(chosen);
  return difference;
}

}  // namespace heapattach::analyze
