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
// With sizes, two columns more stand before the type: the bytes that a row's objects lead to, and
// those that would go with them. The type stands last, so that its width never disturbs a column.
// Percentages are of what the collector has in use, so that the lines above "in use" add up to it:
// rows left out by --top and its kind have a line of their own. Numbers carry no separators: what
// `awk` and `sort -n` cannot read in a table is read wrongly by someone. Names come from the target
// and are made safe to show also when the table goes to a file, since somebody will print that file
// on a terminal.

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "report/write/count_formats.h"
#include "report/write/terminal_text.h"

namespace heapattach {

namespace {

// The numbers of a line as text; empty where a column has nothing to say.
struct Line {
  std::string rank, objects, bytes, percent, transitive, retained, text;
};

std::string percent_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {};
  return fmt::format("{:.2f}", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// The columns before the type, all flush right.
using Column = std::string Line::*;
constexpr std::array<Column, 4> kCounts = {&Line::rank, &Line::objects, &Line::bytes,
                                           &Line::percent};
constexpr std::array<Column, 6> kSizes = {&Line::rank,    &Line::objects,    &Line::bytes,
                                          &Line::percent, &Line::transitive, &Line::retained};

class Lines {
 public:
  Lines(std::uint64_t whole, bool has_sizes)
      : whole_(whole),
        columns_(has_sizes ? std::span<const Column>(kSizes) : std::span<const Column>(kCounts)) {}

  void add(Line line, std::uint64_t bytes) {
    line.bytes = std::to_string(bytes);
    line.percent = percent_of(bytes, whole_);
    lines_.push_back(std::move(line));
  }
  void add_without_percent(std::uint64_t bytes, std::string text) {
    Line line;
    line.bytes = std::to_string(bytes);
    line.text = std::move(text);
    lines_.push_back(std::move(line));
  }

  [[nodiscard]] std::string format(std::size_t first_total, bool with_colour) const {
    const Line head{"rank", "objects", "bytes", "%", "transitive", "retained", "type"};
    std::string out;
    const auto append = [&](const Line& line, const char* colour) {
      out += colour;
      for (const Column column : columns_) {
        fmt::format_to(std::back_inserter(out), "{:>{}}  ", line.*column, width(head, column));
      }
      out += line.text;
      out += *colour != '\0' ? "\x1b[0m\n" : "\n";
    };
    append(head, with_colour ? "\x1b[1m" : "");
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      append(lines_[i], with_colour && i >= first_total ? "\x1b[2m" : "");
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t width(const Line& head, Column column) const {
    std::size_t widest = (head.*column).size();
    for (const Line& line : lines_) widest = std::max(widest, (line.*column).size());
    return widest;
  }

  std::uint64_t whole_;
  std::span<const Column> columns_;
  std::vector<Line> lines_;
};

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

std::string format_count_table(const snapshot::CountTable& table, bool with_colour) {
  Lines lines(table.in_use_bytes(), table.has_sizes);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const snapshot::CountRow& row = table.rows[i];
    Line line{std::to_string(i + 1), std::to_string(row.objects), {}, {}, {}, {}, shown_type(row)};
    if (row.sizes) {
      line.transitive = std::to_string(row.sizes->transitive_bytes);
      line.retained = std::to_string(row.sizes->retained_bytes);
    }
    lines.add(std::move(line), row.bytes);
  }
  const std::size_t first_total = table.rows.size();
  const auto add_total = [&](std::string objects, std::uint64_t bytes, std::string text) {
    lines.add({{}, std::move(objects), {}, {}, {}, {}, std::move(text)}, bytes);
  };
  if (table.left_out_rows != 0) {
    add_total(std::to_string(table.left_out_objects), table.left_out_bytes,
              fmt::format("({} more types)", table.left_out_rows));
  }
  add_total(std::to_string(table.objects), table.bytes, "live");
  if (table.unreachable_bytes != 0) {
    add_total({}, table.unreachable_bytes, "not reachable, or unused in blocks in use");
  }
  add_total({}, table.in_use_bytes(), "total in use by the collector");
  if (table.free_bytes) lines.add_without_percent(*table.free_bytes, "free");
  if (table.heap_bytes) lines.add_without_percent(*table.heap_bytes, "heap");
  std::string out = lines.format(first_total, with_colour);
  if (!table.complete) {
    out += fmt::format("partial: {}\n", terminal_text(table.reason));
  }
  return out;
}

}  // namespace heapattach
