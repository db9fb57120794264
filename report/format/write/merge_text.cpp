// The counts of many snapshots as one table: for people, a row for each type,
//
//      bytes  objects   in  median     most  type, far from the median
//   41394800   862391   12  576000  35058800  Session; far: web-7 60.9x
//    1200000    25000   12  100000   100000  String
//   52594800  1087391   12              all types; far: web-7 14.1x
//   12 snapshots; far: by over 5 times the median distance, half the median, and 64 KiB
//
// and for programs, a row for each type and snapshot. `in` is how many snapshots have such objects.
// A number is far by report/analyze/merge.h; it is shown as a multiple of the median, or in bytes
// if the median is 0.

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "report/format/write/columns.h"
#include "report/format/write/merge_formats.h"
#include "report/short_names.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::MergedCell;
using analyze::MergedRow;
using analyze::MergedSnapshot;
using analyze::MergedTable;

// "web-7" of "dumps/web-7.jsonl.gz".
std::string_view short_source(std::string_view source) {
  source = source.substr(source.find_last_of('/') + 1);
  for (const std::string_view extension : {".gz", ".jsonl"}) {
    if (source.ends_with(extension)) source.remove_suffix(extension.size());
  }
  return source;
}

// The report for people: names of files are short if that leaves them different.
struct Shown {
  const MergedTable& table;
  bool has_short_sources = false;

  [[nodiscard]] std::string source(std::uint32_t snapshot) const {
    const std::string& full = table.snapshots[snapshot].source;
    return terminal_text(has_short_sources ? short_source(full) : full);
  }
};

Shown shown(const MergedTable& table) {
  std::set<std::string_view> names;
  for (const MergedSnapshot& one : table.snapshots) names.insert(short_source(one.source));
  return {table, names.size() == table.snapshots.size()};
}

std::string far_text(const Shown& report, const MergedRow& row) {
  constexpr std::size_t kShown = 4;
  std::vector<MergedCell> far;
  std::copy_if(row.cells.begin(), row.cells.end(), std::back_inserter(far),
               [](const MergedCell& cell) { return cell.is_far; });
  std::stable_sort(far.begin(), far.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::string text;
  for (std::size_t i = 0; i < far.size() && i < kShown; ++i) {
    text += fmt::format("{} {} ", i == 0 ? "; far:" : ",", report.source(far[i].snapshot));
    if (row.median_bytes == 0) {
      text += fmt::format("{} bytes", far[i].bytes);
    } else {
      text += fmt::format(
          "{:.1f}x", static_cast<double>(far[i].bytes) / static_cast<double>(row.median_bytes));
    }
  }
  return far.size() <= kShown ? text : fmt::format("{} and {} more", text, far.size() - kShown);
}

constexpr Column<Shown, MergedRow> kColumns[] = {
    {{.head = "bytes", .unit = Unit::Bytes}, member<&MergedRow::bytes>},
    {{.head = "objects"}, member<&MergedRow::objects>},
    {{.head = "in"}, member<&MergedRow::snapshots>},
    {{.head = "median", .unit = Unit::Bytes}, member<&MergedRow::median_bytes>},
    {{.head = "most", .unit = Unit::Bytes}, member<&MergedRow::most_bytes>},
    {{.head = "type, far from the median"},
     [](const auto& report, const auto& row) {
       return CellValue(terminal_text(shown_type_name(row.type)) + far_text(report, row));
     }},
};

// A row of the tables for programs.
struct Pair {
  const MergedRow* row = nullptr;
  const MergedCell* cell = nullptr;
};

template <auto Member>
CellValue of_row(const MergedTable& /*table*/, const Pair& pair) {
  return pair.row->*Member;
}
template <auto Member>
CellValue of_cell(const MergedTable& /*table*/, const Pair& pair) {
  return pair.cell->*Member;
}
template <std::string MergedSnapshot::*Member>
CellValue of_snapshot(const MergedTable& table, const Pair& pair) {
  return terminal_text(table.snapshots[pair.cell->snapshot].*Member);
}

constexpr Column<MergedTable, Pair> kPairColumns[] = {
    {{.key = "objects"}, of_cell<&MergedCell::objects>},
    {{.key = "bytes"}, of_cell<&MergedCell::bytes>},
    {{.key = "median_bytes"}, of_row<&MergedRow::median_bytes>},
    {{.key = "far"},
     [](const auto&, const auto& pair) {
       return CellValue(static_cast<std::uint64_t>(pair.cell->is_far));
     }},
    {{.key = "pid"},
     [](const auto& table, const auto& pair) {
       return CellValue(static_cast<std::uint64_t>(table.snapshots[pair.cell->snapshot].pid));
     }},
    {{.key = "host"}, of_snapshot<&MergedSnapshot::host>},
    {{.key = "captured"}, of_snapshot<&MergedSnapshot::captured>},
    {{.key = "source"}, of_snapshot<&MergedSnapshot::source>},
    {{.key = "type"},
     [](const auto&, const auto& pair) { return CellValue(terminal_text(pair.row->type)); }},
};

std::vector<Pair> pairs_of(const MergedTable& table) {
  std::vector<Pair> pairs;
  for (const MergedRow& row : table.rows) {
    for (const MergedCell& cell : row.cells) pairs.push_back({&row, &cell});
  }
  return pairs;
}

std::string notes_of(const MergedTable& table) {
  std::string notes;
  for (const MergedSnapshot& one : table.snapshots) {
    if (one.is_read && one.complete) continue;
    notes += fmt::format("{}: {}: {}\n", one.is_read ? "partial" : "not read",
                         terminal_text(one.source), terminal_text(one.reason));
  }
  return notes;
}

}  // namespace

std::string format_merge_table(const MergedTable& table, const TextStyle& style) {
  const Shown report = shown(table);
  Grid grid = grid_of(kColumns, report, table.rows);
  const std::span<const MergedRow> total(&table.total, 1);
  grid.add_total(grid_of(kColumns, report, total), "all types" + far_text(report, table.total));
  std::string out = table_of(grid, style);
  if (table.left_out_rows != 0) out += fmt::format("{} more types\n", table.left_out_rows);
  out += fmt::format("{}; far: by over 5 times the median distance, half the median, and 64 KiB\n",
                     counted(table.snapshots.size(), "snapshot"));
  return out + notes_of(table);
}

std::string format_merge_csv(const MergedTable& table) {
  const std::vector<Pair> pairs = pairs_of(table);
  return csv_of(grid_of(kPairColumns, table, pairs));
}

std::string format_merge_tsv(const MergedTable& table) {
  const std::vector<Pair> pairs = pairs_of(table);
  return tsv_of(grid_of(kPairColumns, table, pairs));
}

}  // namespace heapattach
