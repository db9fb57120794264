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

std::string percent_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {};
  return fmt::format("{:.2f}", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::vector<std::string> head_of(const snapshot::CountTable& table) {
  if (!table.has_sizes) return {"rank", "objects", "bytes", "%", "type"};
  return {"rank", "objects", "bytes", "%", "transitive", "retained", "type"};
}

// The lines of a table under construction; percentages are of `whole`.
class Lines {
 public:
  Lines(const snapshot::CountTable& table, const TextStyle& style)
      : style_(style),
        whole_(table.in_use_bytes()),
        has_sizes_(table.has_sizes),
        table_(head_of(table)) {}

  void add_row(std::size_t rank, const snapshot::CountRow& row) {
    std::vector<std::string> cells{std::to_string(rank), count_cell(row.objects, style_),
                                   bytes_cell(row.bytes, style_), percent_of(row.bytes, whole_)};
    if (has_sizes_) {
      cells.push_back(row.sizes ? bytes_cell(row.sizes->transitive_bytes, style_) : "");
      cells.push_back(row.sizes ? bytes_cell(row.sizes->retained_bytes, style_) : "");
    }
    cells.push_back(shown_type(row));
    table_.add(std::move(cells));
  }

  void add_total(std::optional<std::uint64_t> objects, std::uint64_t bytes, std::string text) {
    add_last(objects ? count_cell(*objects, style_) : std::string(), bytes,
             percent_of(bytes, whole_), std::move(text));
  }
  void add_without_percent(std::uint64_t bytes, std::string text) {
    add_last({}, bytes, {}, std::move(text));
  }

  [[nodiscard]] std::string format() const { return table_.format(style_); }

 private:
  void add_last(std::string objects, std::uint64_t bytes, std::string percent, std::string text) {
    std::vector<std::string> cells{
        {}, std::move(objects), bytes_cell(bytes, style_), std::move(percent)};
    if (has_sizes_) cells.resize(cells.size() + 2);
    cells.push_back(std::move(text));
    table_.add(std::move(cells), Table::Kind::Total);
  }

  const TextStyle& style_;
  std::uint64_t whole_;
  bool has_sizes_;
  Table table_;
};

void add_unreachable(std::uint64_t bytes, bool is_malloc, Lines& lines) {
  if (bytes == 0) return;
  lines.add_total(std::nullopt, bytes,
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
void add_totals_of_both(const snapshot::CountTable& table, Lines& lines) {
  for (const auto& heap : table.heaps) {
    lines.add_total(heap.objects, heap.bytes, "live, " + whose(heap));
  }
  lines.add_total(table.objects, table.bytes, "live");
  for (const auto& heap : table.heaps) {
    add_unreachable(heap.unreachable_bytes, heap.is_malloc, lines);
  }
  for (const auto& heap : table.heaps) {
    lines.add_total(std::nullopt, heap.in_use_bytes(), total_in_use(heap.is_malloc));
  }
  lines.add_total(std::nullopt, table.in_use_bytes(), "total in use by both");
  for (const auto& heap : table.heaps) {
    if (heap.free_bytes) lines.add_without_percent(*heap.free_bytes, "free, " + whose(heap));
  }
  for (const auto& heap : table.heaps) {
    if (heap.heap_bytes) lines.add_without_percent(*heap.heap_bytes, whose(heap) + " heap");
  }
  if (table.heap_bytes) lines.add_without_percent(*table.heap_bytes, "both heaps");
}

}  // namespace

std::string sizes_text(const snapshot::CountRow& row, std::string_view separator) {
  if (!row.sizes) return std::string(separator);
  return fmt::format("{}{}{}", row.sizes->transitive_bytes, separator, row.sizes->retained_bytes);
}

std::string shown_type(const snapshot::CountRow& row) {
  std::string text = terminal_text(row.type);
  if (!row.is_reachable) text += " (unreachable)";
  return text;
}

std::string format_count_table(const snapshot::CountTable& table, const TextStyle& style) {
  Lines lines(table, style);
  for (std::size_t i = 0; i < table.rows.size(); ++i) lines.add_row(i + 1, table.rows[i]);
  if (table.left_out_rows != 0) {
    lines.add_total(table.left_out_objects, table.left_out_bytes,
                    fmt::format("({})", counted(table.left_out_rows, "more type")));
  }
  if (!table.heaps.empty()) {
    add_totals_of_both(table, lines);
  } else {
    lines.add_total(table.objects, table.bytes, "live");
    add_unreachable(table.unreachable_bytes, table.is_malloc, lines);
    lines.add_total(std::nullopt, table.in_use_bytes(), total_in_use(table.is_malloc));
    if (table.free_bytes) lines.add_without_percent(*table.free_bytes, "free");
    if (table.heap_bytes) lines.add_without_percent(*table.heap_bytes, "heap");
  }
  std::string out = lines.format();
  if (!table.complete) {
    out += fmt::format("partial: {}\n", terminal_text(table.reason));
  }
  return out;
}

}  // namespace heapattach
