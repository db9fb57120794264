#include "report/analyze/watch.h"

#include <algorithm>

namespace heapattach::analyze {

void Watch::add(const snapshot::CountTable& table) {
  ++tables_;
  for (const snapshot::CountRow& row : table.rows) {
    if (!row.is_reachable) continue;
    Seen& seen = types_[row.type];
    const Amount now{row.objects, row.bytes};
    // A type that the previous counts did not have had no bytes then.
    const std::uint64_t before = seen.in_table + 1 == tables_ ? seen.last.bytes : 0;
    if (tables_ == 1) {
      seen.first = now;
    } else if (now.bytes > before) {
      seen.grown += 1;
    }
    seen.last = now;
    seen.in_table = tables_;
  }
}

Difference Watch::all() const {
  Difference difference;
  for (const auto& [type, seen] : types_) {
    TypeGrowth row;
    row.type = type;
    row.before = seen.first;
    if (seen.in_table == tables_) row.after = seen.last;
    difference.total.before.objects += row.before.objects;
    difference.total.before.bytes += row.before.bytes;
    difference.total.after.objects += row.after.objects;
    difference.total.after.bytes += row.after.bytes;
    difference.rows.push_back(std::move(row));
  }
  std::sort(difference.rows.begin(), difference.rows.end(),
            [](const TypeGrowth& a, const TypeGrowth& b) { return a.type < b.type; });
  return difference;
}

Difference Watch::difference() const {
  Difference difference = all();
  const auto has_stalled = [this](const TypeGrowth& row) {
    const Seen& seen = types_.at(row.type);
    return seen.grown < rounds() || rounds() == 0;
  };
  difference.rows.erase(std::remove_if(difference.rows.begin(), difference.rows.end(), has_stalled),
                        difference.rows.end());
  return difference;
}

}  // namespace heapattach::analyze
