#include "report/format/export/formats.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/format/export/html.h"
#include "report/format/write/count_formats.h"
#include "report/format/write/sites_formats.h"
#include "report/format/write/text_reports.h"

namespace heapattach {

// Each of these is in a source file of its own, which starts with a description of the format.
using WriteSnapshot = Result<void>(const snapshot::Snapshot&, Sink&, const ExportOptions&);
WriteSnapshot write_dhat, write_folded, write_gcfull, write_gcgrph, write_heapsnapshot, write_hprof,
    write_perfetto, write_pprof, write_ruby, write_svg;
using WriteTrace = Result<void>(const trace::Trace&, Sink&, const TraceExportOptions&);
WriteTrace write_trace_alys, write_trace_dhat, write_trace_folded, write_trace_perfetto,
    write_trace_pprof, write_trace_speedscope, write_trace_svg;

namespace {

constexpr Format kFormats[] = {
    {.name = "table",
     .extensions = "txt",
     .read_by = ReadBy::People,
     .counts = format_count_table,
     .growth = format_growth_table,
     .sites = format_sites_table,
     .stacks = format_stacks_text,
     .suspects = format_suspects_text,
     .why = format_why_text,
     .found = format_find_text,
     .object_sizes = format_object_sizes_text,
     .leaks = format_leaks_text,
     .strings = format_strings_table,
     .summary = format_summary_table,
     .check = format_check_table,
     .diagnosis = format_diagnosis_text,
     .processes = format_processes_table,
     .merged = format_merge_table},
    {.name = "tsv",
     .extensions = "tsv",
     .join = join_tsv,
     .counts = format_count_tsv,
     .sites = format_sites_tsv,
     .merged = format_merge_tsv},
    {.name = "csv",
     .extensions = "csv",
     .join = join_csv,
     .counts = format_count_csv,
     .sites = format_sites_csv,
     .merged = format_merge_csv},
    {.name = "mermaid", .extensions = "mmd mermaid txt", .graph = format_graph_mermaid},
    {.name = "dot", .extensions = "dot gv", .graph = format_graph_dot},
    {.name = "json",
     .extensions = "json",
     .counts = format_count_json,
     .growth = format_growth_json,
     .sites = format_sites_json,
     .stacks = format_stacks_json,
     .suspects = format_suspects_json,
     .why = format_why_json,
     .graph = format_graph_json,
     .found = format_find_json,
     .object_sizes = format_object_sizes_json,
     .leaks = format_leaks_json,
     .strings = format_strings_json,
     .summary = format_summary_json,
     .check = format_check_json,
     .diagnosis = format_diagnosis_json,
     .processes = format_processes_json,
     .merged = format_merge_json},
    {.name = "markdown",
     .extensions = "md markdown",
     .read_by = ReadBy::Browsers,
     .counts = format_count_markdown,
     .sites = format_sites_markdown},
    {.name = "memprof",
     .extensions = "memprof",
     .counts = format_count_memprof,
     .sites = format_sites_memprof},
    {.name = "openmetrics",
     .extensions = "prom",
     .join = join_openmetrics,
     .counts = format_count_openmetrics,
     .latest_counts = format_count_openmetrics},
    // Many readers expect JSON Lines in a file called .json.
    {.name = "jsonl",
     .extensions = "jsonl ndjson json",
     .snapshot_lines = write_json_lines,
     .trace_lines = write_trace_lines},
    {.name = "html", .extensions = "html", .join = join_html, .snapshot = write_html},
    {.name = "heapsnapshot", .extensions = "heapsnapshot", .snapshot = write_heapsnapshot},
    {.name = "pprof",
     .extensions = "pb",
     .is_binary = true,
     .snapshot = write_pprof,
     .trace = write_trace_pprof},
    {.name = "perfetto",
     .extensions = "pftrace",
     .is_binary = true,
     .is_series = true,
     .with_short_frames = true,
     .snapshot = write_perfetto,
     .trace = write_trace_perfetto},
    {.name = "folded",
     .extensions = "folded",
     .with_short_frames = true,
     .snapshot = write_folded,
     .trace = write_trace_folded,
     .stacks = format_stacks_folded},
    {.name = "svg",
     .extensions = "svg",
     .with_short_frames = true,
     .snapshot = write_svg,
     .trace = write_trace_svg},
    {.name = "dhat", .extensions = "dhat", .snapshot = write_dhat, .trace = write_trace_dhat},
    {.name = "speedscope", .extensions = "speedscope", .trace = write_trace_speedscope},
    {.name = "alys", .trace = write_trace_alys},
    {.name = "ruby", .extensions = "ruby", .snapshot = write_ruby},
    {.name = "gcgrph",
     .extensions = "gcgrph",
     .is_binary = true,
     .needs = ExportNeeds::Words,
     .snapshot = write_gcgrph},
    {.name = "gcfull",
     .extensions = "gcfull",
     .is_binary = true,
     .needs = ExportNeeds::Contents,
     .snapshot = write_gcfull},
    {.name = "hprof",
     .extensions = "hprof",
     .is_binary = true,
     .needs = ExportNeeds::Offsets,
     .snapshot = write_hprof},
    // Last in the lists of these two.
    {.name = "html",
     .extensions = "html",
     .join = join_html,
     .trace_page = write_html_of_trace,
     .growth_page = write_html_of_growth,
     .stacks = format_stacks_html},
};

bool has_offsets(const snapshot::Snapshot& snapshot) {
  return std::all_of(snapshot.types.begin(), snapshot.types.end(),
                     [](const snapshot::Type& type) { return type.keys.empty(); });
}

Error lacks(const Format& format, std::string_view what) {
  return Error{ErrorKind::Usage, fmt::format("-f {} needs {}", format.name, what)}.advise(
      "export the process itself");
}

}  // namespace

Result<void> check_exportable(const Format& format, const snapshot::Snapshot& snapshot) {
  constexpr std::string_view kSaved = "which a saved snapshot does not have";
  // The collector's own formats: pages of objects of one size.
  if (needs_contents(format) && snapshot.heaps.size() > 1) {
    return Error{ErrorKind::Usage, fmt::format("-f {} cannot hold {} objects", format.name,
                                               whose(snapshot.heaps.back().kind()))}
        .advise("--heap gc");
  }
  switch (format.needs) {
    case ExportNeeds::Objects: break;
    case ExportNeeds::Offsets:
      if (!has_offsets(snapshot)) return lacks(format, fmt::format("offsets, {}", kSaved));
      break;
    case ExportNeeds::Contents:
      if (snapshot.header.source == "gcgrph") {
        return lacks(format, "all bytes of the objects; a GCGRPH dump has only the pointers");
      }
      [[fallthrough]];
    case ExportNeeds::Words:
      if (snapshot.contents != nullptr) break;
      return lacks(format, fmt::format("the objects' bytes, {}", kSaved));
  }
  return {};
}

std::vector<const Format*> formats_with(Writes writer) {
  std::vector<const Format*> found;
  for (const Format& format : kFormats) {
    if (writer(format)) found.push_back(&format);
  }
  return found;
}

const Format* find_format(std::string_view name, Writes writer) {
  for (const Format* const format : formats_with(writer)) {
    if (format->name == name) return format;
  }
  return nullptr;
}

}  // namespace heapattach
