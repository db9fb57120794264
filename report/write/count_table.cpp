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
// The type stands last, so that its width never disturbs a column. Percentages are of what the
// collector has in use, so that the lines above "in use" add up to it: rows left out by --top and
// its kind have a line of their own. Numbers carry no separators: what `awk` and `sort -n` cannot
// read in a table is read wrongly by someone. Names come from the target and are made safe to show
// also when the table goes to a file, since somebody will print that file on a terminal.

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "report/write/count_formats.h"
#include "report/write/terminal_text.h"

namespace heapattach {

namespace {

// The numbers of a line as text; empty where a column has nothing to say.
struct Line {
  std::string rank, objects, bytes, percent, text;
};

std::string percent_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {};
  return fmt::format("{:.2f}", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

class Lines {
 public:
  explicit Lines(std::uint64_t whole) : whole_(whole) {}

  void add(std::string rank, std::string objects, std::uint64_t bytes, std::string text) {
    lines_.push_back({std::move(rank), std::move(objects), std::to_string(bytes),
                      percent_of(bytes, whole_), std::move(text)});
  }
  void add_without_percent(std::uint64_t bytes, std::string text) {
    lines_.push_back({{}, {}, std::to_string(bytes), {}, std::move(text)});
  }

  [[nodiscard]] std::string format(std::size_t first_total, bool with_colour) const {
    const Line head{"rank", "objects", "bytes", "%", "type"};
    const std::size_t rank = width(head, &Line::rank);
    const std::size_t objects = width(head, &Line::objects);
    const std::size_t bytes = width(head, &Line::bytes);
    const std::size_t percent = width(head, &Line::percent);
    std::string out;
    const auto append = [&](const Line& line, const char* colour) {
      fmt::format_to(std::back_inserter(out), "{}{:>{}}  {:>{}}  {:>{}}  {:>{}}  {}{}\n", colour,
                     line.rank, rank, line.objects, objects, line.bytes, bytes, line.percent,
                     percent, line.text, *colour != '\0' ? "\x1b[0m" : "");
    };
    append(head, with_colour ? "\x1b[1m" : "");
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      append(lines_[i], with_colour && i >= first_total ? "\x1b[2m" : "");
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t width(const Line& head, std::string Line::*column) const {
    std::size_t widest = (head.*column).size();
    for (const Line& line : lines_) widest = std::max(widest, (line.*column).size());
    return widest;
  }

  std::uint64_t whole_;
  std::vector<Line> lines_;
};

}  // namespace

std::string shown_type(const snapshot::CountRow& row) {
  std::string text = terminal_text(row.type);
  if (!row.is_reachable) text += " (unreachable)";
  return text;
}

std::string format_count_table(const snapshot::CountTable& table, bool with_colour) {
  Lines lines(table.in_use_bytes());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const snapshot::CountRow& row = table.rows[i];
    lines.add(std::to_string(i + 1), std::to_string(row.objects), row.bytes, shown_type(row));
  }
  const std::size_t first_total = table.rows.size();
  if (table.left_out_rows != 0) {
    lines.add({}, std::to_string(table.left_out_objects), table.left_out_bytes,
              fmt::format("({} more types)", table.left_out_rows));
  }
  const std::string objects = std::to_string(table.objects);
  lines.add({}, objects, table.bytes, "live");
  if (table.unreachable_bytes != 0) {
    lines.add({}, {}, table.unreachable_bytes, "not reachable, or unused in blocks in use");
  }
  lines.add({}, {}, table.in_use_bytes(), "total in use by the collector");
  if (table.free_bytes) lines.add_without_percent(*table.free_bytes, "free");
  if (table.heap_bytes) lines.add_without_percent(*table.heap_bytes, "heap");
  std::string out = lines.format(first_total, with_colour);
  if (!table.complete) {
    out += fmt::format("partial: {}\n", terminal_text(table.reason));
  }
  return out;
}

}  // namespace heapattach
