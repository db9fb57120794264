// The table of growth, for people; of three snapshots two columns more stand before the others.
//
//   1. before.jsonl  2026-11-20T11:34:07.215Z       120 objects        5760 bytes
//   2. after.jsonl   2026-11-20T11:44:07.871Z      1120 objects       53760 bytes
//
//   +bytes  +objects  before  after  stayed  type
//   +48000     +1000     100   1100     100  Session
//     -320       -10      10      0       0  Job (gone)
//   +47680      +990     120   1120     110  all types
//
// The sources stand above it in the order in which they were compared, since a reader who gave them
// in the wrong order must see it. Numbers carry no separators, for awk; their signs, always.

#include <algorithm>

#include <fmt/format.h>

#include "report/format/write/growth_formats.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::TypeGrowth;

std::string source_lines(const GrowthReport& report) {
  std::size_t name = 0;
  std::size_t objects = 0;
  std::size_t bytes = 0;
  for (const GrowthSource& source : report.sources) {
    name = std::max(name, terminal_text(source.name).size());
    objects = std::max(objects, std::to_string(source.objects).size());
    bytes = std::max(bytes, std::to_string(source.bytes).size());
  }
  std::string out;
  for (std::size_t i = 0; i < report.sources.size(); ++i) {
    const GrowthSource& source = report.sources[i];
    out += fmt::format("{}. {:<{}}  {:<24}  {:>{}} objects  {:>{}} bytes\n", i + 1,
                       terminal_text(source.name), name, terminal_text(source.captured),
                       source.objects, objects, source.bytes, bytes);
  }
  return out;
}

std::vector<std::string> head_of(const GrowthReport& report) {
  std::vector<std::string> head;
  if (report.has_kept()) head = {"kept bytes", "kept"};
  head.insert(head.end(), {"+bytes", "+objects", "before", "after"});
  if (report.has_objects()) head.emplace_back("stayed");
  head.emplace_back("type");
  return head;
}

std::vector<std::string> cells_of(const GrowthReport& report,
                                  const TypeGrowth& row,
                                  std::string text) {
  std::vector<std::string> cells;
  if (report.has_kept()) {
    cells = {std::to_string(row.kept.bytes), std::to_string(row.kept.objects)};
  }
  cells.insert(cells.end(),
               {fmt::format("{:+}", row.grown_bytes()), fmt::format("{:+}", row.grown_objects()),
                std::to_string(row.before.objects), std::to_string(row.after.objects)});
  if (report.has_objects()) cells.push_back(std::to_string(row.stayed.objects));
  cells.push_back(std::move(text));
  return cells;
}

std::string text_of(const TypeGrowth& row) {
  return terminal_text(row.type) + (row.is_new() ? " (new)" : row.is_gone() ? " (gone)" : "");
}

// What the columns mean, to those who see them for the first time.
std::string legend(const GrowthReport& report) {
  if (report.kind == GrowthKind::Watch) {
    return fmt::format(
        "{} in each of the {} rounds\n",
        report.difference.rows.empty() ? "no type's bytes grew" : "types whose bytes grew",
        report.sources.size() - 1);
  }
  std::string out;
  if (report.has_kept()) {
    out += "kept: objects that came between 1 and 2 and are still there in 3\n";
  }
  if (report.has_objects()) {
    out += fmt::format("stayed: objects of 1 that are still there in {}\n", report.sources.size());
  }
  return out;
}

}  // namespace

std::string format_growth_table(const GrowthReport& report, const Look& look) {
  Table table(head_of(report));
  const analyze::Difference& difference = report.difference;
  for (const TypeGrowth& row : difference.rows) table.add(cells_of(report, row, text_of(row)));
  if (difference.left_out_rows != 0) {
    table.add(cells_of(report, difference.left_out,
                       fmt::format("({} more types)", difference.left_out_rows)),
              Table::Kind::Total);
  }
  table.add(cells_of(report, difference.total, "all types"), Table::Kind::Total);
  std::string out = source_lines(report) + '\n' + table.format(look) + legend(report);
  for (const std::string& remark : report.kinship.remarks) {
    out += fmt::format("note: {}\n", terminal_text(remark));
  }
  return out;
}

}  // namespace heapattach
