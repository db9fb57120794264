// The table for people.
//
//    rank  objects   bytes       %  type
//       1     1000   48000   48.00  Session
//       2     2000   32000   32.00  String
//             3000   80000   80.00  live
//                    20000   20.00  not reachable, or unused in blocks in use
//                   100000  100.00  total in use by the collector
//                    31072          free
//                   131072          heap
//
// Of two heaps, each has its own lines from "live" on, and both together another.
//
// With sizes, two more columns precede the type: the bytes that a row's objects reference, and
// those that they retain. The type comes last, so that its width never disturbs a column.
// Percentages are of what the collector has in use, so that the lines above "in use" add up to it:
// rows left out by --top and its kind have a line of their own. Numbers are digits alone except on
// a terminal and with --human, so that `awk` and `sort -n` can read them. Names come from the
// target and are made safe to show even if the table goes to a file, because someone will print
// that file on a terminal.

#include <optional>

#include <fmt/format.h>

#include "report/format/write/count_formats.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::CountRow;
using snapshot::CountTable;

CellValue percent_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {};
  return fmt::format("{:.2f}", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

bool has_sizes(const CountTable& table) {
  return table.has_sizes;
}

constexpr Column<CountTable, CountRow> kColumns[] = {
    {{.json = "type"}, member<&CountRow::type>},
    {{.head = "rank", .unit = Unit::Digits},
     [](const auto& table, const auto& row) {
       return CellValue(static_cast<std::uint64_t>(&row - table.rows.data() + 1));
     }},
    {{.head = "objects", .key = "objects", .gauge = "Objects of a type."},
     member<&CountRow::objects>},
    {{.head = "bytes",
      .key = "bytes",
      .unit = Unit::Bytes,
      .gauge = "Bytes of the objects of a type."},
     member<&CountRow::bytes>},
    {{.head = "%"},
     [](const auto& table, const auto& row) {
       return percent_of(row.bytes, table.in_use_bytes());
     }},
    {{.head = "transitive", .key = "transitive_bytes", .unit = Unit::Bytes},
     [](const auto&, const auto& row) {
       return row.sizes ? CellValue(row.sizes->transitive_bytes) : CellValue();
     },
     has_sizes},
    {{.head = "retained",
      .key = "retained_bytes",
      .unit = Unit::Bytes,
      .gauge = "Bytes that would be freed with the objects of a type."},
     [](const auto&, const auto& row) {
       return row.sizes ? CellValue(row.sizes->retained_bytes) : CellValue();
     },
     has_sizes},
    {{.json = "reachable"},
     [](const auto&, const auto& row) {
       return row.is_reachable ? CellValue() : CellValue(false);
     }},
    {{.head = "type", .cells = "type"},
     [](const auto&, const auto& row) { return CellValue(shown_type(row)); }},
};

// The totals below the rows; percentages are of `whole`.
class Totals {
 public:
  Totals(std::uint64_t whole, Grid& grid) : whole_(whole), grid_(grid) {}

  void add(std::optional<std::uint64_t> objects, std::uint64_t bytes, std::string text) {
    std::vector<std::pair<std::string_view, CellValue>> values{{"bytes", bytes},
                                                               {"%", percent_of(bytes, whole_)}};
    if (objects) values.emplace_back("objects", *objects);
    grid_.add_total(values, std::move(text));
  }
  void add_without_percent(std::uint64_t bytes, std::string text) {
    grid_.add_total({{"bytes", bytes}}, std::move(text));
  }

 private:
  std::uint64_t whole_;
  Grid& grid_;
};

void add_unreachable(std::uint64_t bytes, bool is_malloc, Totals& totals) {
  if (bytes == 0) return;
  totals.add(std::nullopt, bytes,
             is_malloc ? "leaked, or malloc's own headers and tables"
                       : "not reachable, or unused in blocks in use");
}

std::string total_in_use(bool is_malloc) {
  return is_malloc ? "total in use by malloc" : "total in use by the collector";
}

std::string whose(const snapshot::HeapCount& heap) {
  return heap.is_malloc ? "malloc's" : "the collector's";
}

// Each heap's own, and both.
void add_totals_of_both(const CountTable& table, Totals& totals) {
  for (const auto& heap : table.heaps) {
    totals.add(heap.objects, heap.bytes, "live, " + whose(heap));
  }
  totals.add(table.objects, table.bytes, "live");
  for (const auto& heap : table.heaps) {
    add_unreachable(heap.unreachable_bytes, heap.is_malloc, totals);
  }
  for (const auto& heap : table.heaps) {
    totals.add(std::nullopt, heap.in_use_bytes(), total_in_use(heap.is_malloc));
  }
  totals.add(std::nullopt, table.in_use_bytes(), "total in use by both");
  for (const auto& heap : table.heaps) {
    if (heap.free_bytes) totals.add_without_percent(*heap.free_bytes, "free, " + whose(heap));
  }
  for (const auto& heap : table.heaps) {
    if (heap.heap_bytes) totals.add_without_percent(*heap.heap_bytes, whose(heap) + " heap");
  }
  if (table.heap_bytes) totals.add_without_percent(*table.heap_bytes, "both heaps");
}

}  // namespace

std::string shown_type(const CountRow& row) {
  std::string text = terminal_text(row.type);
  if (!row.is_reachable) text += " (unreachable)";
  return text;
}

Grid count_grid(const CountTable& table) {
  return grid_of(kColumns, table, table.rows);
}

std::string format_count_table(const CountTable& table, const TextStyle& style) {
  Grid grid = count_grid(table);
  Totals totals(table.in_use_bytes(), grid);
  if (table.left_out_rows != 0) {
    totals.add(table.left_out_objects, table.left_out_bytes,
               fmt::format("({})", counted(table.left_out_rows, "more type")));
  }
  if (!table.heaps.empty()) {
    add_totals_of_both(table, totals);
  } else {
    totals.add(table.objects, table.bytes, "live");
    add_unreachable(table.unreachable_bytes, table.is_malloc, totals);
    totals.add(std::nullopt, table.in_use_bytes(), total_in_use(table.is_malloc));
    if (table.free_bytes) totals.add_without_percent(*table.free_bytes, "free");
    if (table.heap_bytes) totals.add_without_percent(*table.heap_bytes, "heap");
  }
  std::string out = table_of(grid, style);
  if (!table.complete) {
    out += fmt::format("partial: {}\n", terminal_text(table.reason));
  }
  return out;
}

}  // namespace heapattach
