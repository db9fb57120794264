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
// If there are several heaps, each gets its own totals from "live" on, and then all together.
//
// If sizes alone are known of some objects, and there are guesses what these are, the column
// "guess" has them: "struct conn?". The type of such a row stays "(48 bytes)".
//
// With sizes, two more columns precede the type: the bytes that a row's objects reference, and
// those that they retain. The type comes last, so that its width never disturbs a column.
// Percentages are of what the collector has in use, so that the lines above "in use" add up to it:
// rows left out by --top and its kind have a line of their own. Numbers are digits alone except on
// a terminal and with --human, so that `awk` and `sort -n` can read them. Names come from the
// target and are made safe to show even if the table goes to a file, because someone will print
// that file on a terminal.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "report/format/write/count_formats.h"
#include "report/short_names.h"
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

bool has_guesses(const CountTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [](const CountRow& row) { return !row.guess.empty(); });
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
    {{.json = "short"}, [](const auto&, const auto& row) { return short_cell(row.type); }},
    {{.json = "guess"},
     [](const auto&, const auto& row) {
       return row.guess.empty() ? CellValue() : CellValue(row.guess);
     }},
    {{.head = "guess"},
     [](const auto&, const auto& row) { return CellValue(guess_text(row.guess)); },
     has_guesses},
    {{.cells = "type"}, [](const auto&, const auto& row) { return CellValue(full_type(row)); }},
    {{.head = "type"},
     [](const auto&, const auto& row) {
       CountRow shown{.type = shown_type_name(row.type), .is_reachable = row.is_reachable};
       return CellValue(full_type(shown));
     }},
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

// The heaps of a table. If nothing is known about them, a single one with everything.
std::vector<snapshot::HeapCount> heaps_of(const CountTable& table) {
  if (!table.heaps.empty()) return table.heaps;
  snapshot::HeapCount heap;
  heap.objects = table.objects;
  heap.bytes = table.bytes;
  heap.unreachable_bytes = table.unreachable_bytes;
  heap.heap_bytes = table.heap_bytes;
  heap.free_bytes = table.free_bytes;
  return {heap};
}

// What is in use and not live; two lines if what leaked is known.
void add_unreachable(const snapshot::HeapCount& heap, Totals& totals) {
  const heap::Kind& kind = *heap.kind;
  const auto add = [&](std::uint64_t bytes, std::string_view words) {
    if (bytes != 0) totals.add(std::nullopt, bytes, std::string(words));
  };
  if (!heap.leaked_bytes) return add(heap.unreachable_bytes, kind.not_reachable);
  add(*heap.leaked_bytes, kind.unreachable);
  add(*heap.overhead_bytes(), kind.rest);
}

// One line for each heap, and then, if there are several, one for their sum.
void add_heaps(const CountTable& table, Totals& totals) {
  const std::vector<snapshot::HeapCount> heaps = heaps_of(table);
  const bool are_several = heaps.size() > 1;
  const auto named = [&](std::string text, const snapshot::HeapCount& heap) {
    return are_several ? fmt::format("{}, {}", text, whose(*heap.kind)) : text;
  };
  for (const auto& heap : heaps) totals.add(heap.objects, heap.bytes, named("live", heap));
  if (are_several) totals.add(table.objects, table.bytes, "live");
  for (const auto& heap : heaps) add_unreachable(heap, totals);
  for (const auto& heap : heaps) {
    totals.add(std::nullopt, heap.in_use_bytes(),
               fmt::format("total in use by {}", heap.kind->owner));
  }
  const std::string_view all = heaps.size() == 2 ? "both" : "all";
  if (are_several) {
    totals.add(std::nullopt, table.in_use_bytes(), fmt::format("total in use by {}", all));
  }
  for (const auto& heap : heaps) {
    if (heap.free_bytes) totals.add_without_percent(*heap.free_bytes, named("free", heap));
  }
  for (const auto& heap : heaps) {
    const std::string text = are_several ? whose(*heap.kind) + " heap" : "heap";
    if (heap.heap_bytes) totals.add_without_percent(*heap.heap_bytes, text);
  }
  if (are_several && table.heap_bytes) {
    totals.add_without_percent(*table.heap_bytes, fmt::format("{} heaps", all));
  }
}

}  // namespace

std::string full_type(const CountRow& row) {
  return terminal_text(row.type) + (row.is_reachable ? "" : " (unreachable)");
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
  add_heaps(table, totals);
  std::string out = table_of(grid, style);
  if (!table.complete) {
    out += fmt::format("partial: {}\n", terminal_text(table.reason));
  }
  return out;
}

}  // namespace heapattach
