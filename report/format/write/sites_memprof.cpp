// The texts of MemProf, a profiler for Crystal that must be built into the program. Its
// log_allocations: the number of lines, then a line for each place,
//
//   200<TAB>9600<TAB>Shop#login (shop.cr:12)<TAB>main
//
// objects, bytes and the frames, innermost first. Its pretty_log_allocations: the same as a table
// in Markdown with separators in the numbers and the frames in code spans joined by <br>, sorted by
// bytes, objects and frames. Both show what is in use unless --value says otherwise. As in
// MemProf, they show no types, except in a table by type.

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "report/format/write/markdown.h"
#include "report/format/write/sites_formats.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

bool is_in_use(trace::Value value) {
  return value == trace::Value::InuseSpace || value == trace::Value::InuseObjects;
}

struct Line {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> frames;
};

std::vector<std::string> frames_of(const trace::SiteTable& table, const trace::Site& site) {
  if (table.by == trace::GroupBy::Type) return {terminal_text(site.type)};
  if (!site.name.empty()) return {terminal_text(site.name)};
  std::vector<std::string> frames;
  for (const std::string& frame : site.frames) frames.push_back(terminal_text(frame));
  return frames;
}

// Rows that differ only in their types become one line.
std::vector<Line> lines_of(const trace::SiteTable& table) {
  std::vector<Line> lines;
  for (const trace::Site& site : table.rows) {
    const trace::Amounts& amounts = site.amounts;
    if (rounded(trace::amount_of(amounts, table.value)) == 0) continue;
    const bool in_use = is_in_use(table.value);
    lines.push_back({rounded(in_use ? amounts.in_use_objects : amounts.allocations),
                     rounded(in_use ? amounts.in_use_bytes : amounts.bytes),
                     frames_of(table, site)});
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.frames < b.frames; });
  std::vector<Line> joined;
  for (Line& line : lines) {
    if (!joined.empty() && joined.back().frames == line.frames) {
      joined.back().objects += line.objects;
      joined.back().bytes += line.bytes;
    } else {
      joined.push_back(std::move(line));
    }
  }
  std::sort(joined.begin(), joined.end(), [](const Line& a, const Line& b) {
    return std::tie(b.bytes, b.objects, a.frames) < std::tie(a.bytes, a.objects, b.frames);
  });
  return joined;
}

std::string with_separators(std::uint64_t number) {
  TextStyle style;
  style.with_separators = true;
  return count_cell(number, style);
}

}  // namespace

std::string format_sites_memprof(const trace::SiteTable& table) {
  const std::vector<Line> lines = lines_of(table);
  std::string out = fmt::format("{}\n", lines.size());
  for (const Line& line : lines) {
    out += fmt::format("{}\t{}", line.objects, line.bytes);
    for (const std::string& frame : line.frames) out += '\t' + frame;
    out += '\n';
  }
  return out;
}

std::string format_sites_markdown(const trace::SiteTable& table) {
  std::string out =
      "| Allocations | Total size | Context |\n|------------:|-----------:|---------|\n";
  for (const Line& line : lines_of(table)) {
    out += fmt::format("| {} | {} | ", with_separators(line.objects), with_separators(line.bytes));
    for (std::size_t i = 0; i < line.frames.size(); ++i) {
      out += (i == 0 ? "" : "<br>") + code_span(line.frames[i]);
    }
    out += " |\n";
  }
  return out;
}

}  // namespace heapattach
