// The table of growth, for people; three snapshots have two more columns, before the others.
//
//   1. before.jsonl  2026-11-20T11:34:07.215Z       120 objects        5760 bytes
//   2. after.jsonl   2026-11-20T11:44:07.871Z      1120 objects       53760 bytes
//
//   1. 1000 new Session retain 96000 bytes, 94 % of what is new
//     with 1000 String, 48000 bytes
//     all through global CACHE → @h → [*].value, for instance
//       global CACHE of app
//         → 0x7f1200 Cache
//         …
//     12 through variable job of run on stacks of fibers
//
//   +bytes  +retained  +objects  before  after  stayed  type
//   +48000     +96000     +1000     100   1100     100  Session
//     -320       -320       -10      10      0       0  Job (gone)
//   +47680                 +990     120   1120     110  all types
//
// The sources are listed above it in the order in which they were compared, so that a wrong order
// is noticed. The leaks and their holders come next: they are the answer. Numbers are digits alone
// except on a terminal and with --human, for awk; growth always has a sign.

#include <algorithm>

#include <fmt/format.h>

#include "report/format/write/growth_formats.h"
#include "report/format/write/root_path_text.h"
#include "report/short_names.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::RetainedGrowth;
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

CellValue grown_retained(const GrowthReport& /*report*/, const TypeGrowth& row) {
  return row.retained ? CellValue(row.retained->grown()) : CellValue();
}
template <std::uint64_t RetainedGrowth::*Part>
CellValue retained(const GrowthReport& /*report*/, const TypeGrowth& row) {
  return row.retained ? CellValue((*row.retained).*Part) : CellValue();
}
template <auto Number>
CellValue number(const GrowthReport& /*report*/, const TypeGrowth& row) {
  return (row.*Number)();
}
template <analyze::Amount TypeGrowth::*Amount, std::uint64_t analyze::Amount::*Part>
CellValue part(const GrowthReport& /*report*/, const TypeGrowth& row) {
  return row.*Amount.*Part;
}
bool has_kept(const GrowthReport& report) {
  return report.has_kept();
}
bool has_objects(const GrowthReport& report) {
  return report.has_objects();
}
bool has_retained(const GrowthReport& report) {
  return report.difference.has_retained;
}

constexpr auto kObjects = &analyze::Amount::objects;
constexpr auto kBytes = &analyze::Amount::bytes;

constexpr Column<GrowthReport, TypeGrowth> kColumns[] = {
    {{.head = "kept bytes", .unit = Unit::Bytes}, part<&TypeGrowth::kept, kBytes>, has_kept},
    {{.head = "kept"}, part<&TypeGrowth::kept, kObjects>, has_kept},
    {{.head = "+bytes", .unit = Unit::Bytes}, number<&TypeGrowth::grown_bytes>},
    {{.head = "+retained", .unit = Unit::Bytes}, grown_retained, has_retained},
    {{.json = "type"}, member<&TypeGrowth::type>},
    {{.json = "objects_before"}, part<&TypeGrowth::before, kObjects>},
    {{.json = "bytes_before"}, part<&TypeGrowth::before, kBytes>},
    {{.json = "objects_after"}, part<&TypeGrowth::after, kObjects>},
    {{.json = "bytes_after"}, part<&TypeGrowth::after, kBytes>},
    {{.head = "+objects", .key = "grown_objects"}, number<&TypeGrowth::grown_objects>},
    {{.json = "grown_bytes"}, number<&TypeGrowth::grown_bytes>},
    {{.json = "retained_before"}, retained<&RetainedGrowth::before>},
    {{.json = "retained_after"}, retained<&RetainedGrowth::after>},
    {{.json = "grown_retained"}, grown_retained},
    {{.head = "before"}, part<&TypeGrowth::before, kObjects>},
    {{.head = "after"}, part<&TypeGrowth::after, kObjects>},
    {{.head = "stayed", .key = "stayed_objects"}, part<&TypeGrowth::stayed, kObjects>, has_objects},
    {{.json = "stayed_bytes"}, part<&TypeGrowth::stayed, kBytes>, has_objects},
    {{.json = "kept_objects"}, part<&TypeGrowth::kept, kObjects>, has_kept},
    {{.json = "kept_bytes"}, part<&TypeGrowth::kept, kBytes>, has_kept},
    {{.json = "new"},
     [](const auto&, const auto& row) { return row.is_new() ? CellValue(true) : CellValue(); }},
    {{.json = "gone"},
     [](const auto&, const auto& row) { return row.is_gone() ? CellValue(true) : CellValue(); }},
    {{.json = "short"}, [](const auto&, const auto& row) { return short_cell(row.type); }},
    {{.head = "type"},
     [](const auto&, const auto& row) {
       return CellValue(terminal_text(shown_type_name(row.type)) + (row.is_new()    ? " (new)"
                                                                    : row.is_gone() ? " (gone)"
                                                                                    : ""));
     }},
};

// Explains the columns to first-time readers.
std::string legend(const GrowthReport& report) {
  if (report.kind == GrowthKind::Watch) {
    const std::size_t rounds = report.sources.size() - 1;
    return fmt::format(
        "{} in {}\n",
        report.difference.rows.empty() ? "no type's bytes grew" : "types whose bytes grew",
        rounds == 1 ? "the only round" : fmt::format("each of the {} rounds", rounds));
  }
  std::string out;
  if (report.has_kept()) {
    out += "kept: objects that are new in 2 and still exist in 3\n";
  }
  if (report.has_objects()) {
    out += fmt::format("stayed: objects of 1 that still exist in {}\n", report.sources.size());
  }
  return out;
}

std::string holders_text(const GrowthReport& report, const TextStyle& style) {
  if (report.holders.found.empty()) return {};
  analyze::EdgeNames names(*report.last);
  std::string text;
  for (std::size_t i = 0; i < report.holders.found.size(); ++i) {
    text += holder_text(report, i, names, style) + '\n';
  }
  return text;
}

}  // namespace

std::string sentence_of(const GrowthReport& report, const analyze::GrowthHolder& holder) {
  const double share = report.holders.new_bytes == 0
                           ? 0
                           : 100.0 * static_cast<double>(holder.retained_bytes) /
                                 static_cast<double>(report.holders.new_bytes);
  const bool is_one = holder.objects == 1;
  const std::string type = shown_type_name(holder.type);
  if (!report.origins.is_same_process) {
    return fmt::format("{} {} retain{} {} bytes; there were fewer before", holder.objects, type,
                       is_one ? "s" : "", holder.retained_bytes);
  }
  if (report.has_kept()) {
    return fmt::format("{} {} that came and stayed retain{} {} bytes, {:.0f} % of what stayed",
                       holder.objects, type, is_one ? "s" : "", holder.retained_bytes, share);
  }
  return fmt::format("{} new {} retain{} {} bytes, {:.0f} % of what is new", holder.objects, type,
                     is_one ? "s" : "", holder.retained_bytes, share);
}

std::string holder_text(const GrowthReport& report,
                        std::size_t index,
                        analyze::EdgeNames& names,
                        const TextStyle& style) {
  const analyze::GrowthHolder& holder = report.holders.found[index];
  const std::string head =
      fmt::format("{}. {}", index + 1, terminal_text(sentence_of(report, holder)));
  std::string text = style.with_colour ? fmt::format("\x1b[1m{}\x1b[0m\n", head) : head + '\n';
  std::string others;
  for (const analyze::RetainedNew& other : holder.others) {
    others += fmt::format("{}{} {}, {} bytes", others.empty() ? "  with " : "; ", other.objects,
                          terminal_text(shown_type_name(other.type)), other.bytes);
  }
  if (!others.empty()) text += others + '\n';
  const std::string share =
      holder.through == holder.objects ? "all" : fmt::format("{} of them", holder.through);
  text += fmt::format("  {} through {}, for instance\n", share, terminal_text(holder.summary));
  text += root_path_text(*report.last, holder.root, holder.root_path, names, style);
  for (const analyze::OtherPath& path : holder.other_paths) {
    text += fmt::format("  {} through {}\n", path.objects, terminal_text(path.summary));
  }
  if (holder.left_out != 0) text += fmt::format("  {} through other paths\n", holder.left_out);
  return text;
}

Grid growth_grid(const GrowthReport& report, std::span<const TypeGrowth> rows) {
  return grid_of(kColumns, report, rows);
}

std::string format_growth_table(const GrowthReport& report, const TextStyle& style) {
  const analyze::Difference& difference = report.difference;
  Grid grid = growth_grid(report, difference.rows);
  if (difference.left_out_rows != 0) {
    grid.add_total(growth_grid(report, {&difference.left_out, 1}),
                   fmt::format("({})", counted(difference.left_out_rows, "more type")));
  }
  grid.add_total(growth_grid(report, {&difference.total, 1}), "all types");
  std::string out = source_lines(report) + '\n' + holders_text(report, style) +
                    table_of(grid, style) + legend(report);
  for (const std::string& remark : report.origins.remarks) {
    out += fmt::format("note: {}\n", terminal_text(remark));
  }
  return out;
}

}  // namespace heapattach
