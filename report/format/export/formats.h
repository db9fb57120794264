#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/format/export/trace_exports.h"
#include "report/format/write/diagnosis_formats.h"
#include "report/format/write/growth_formats.h"
#include "report/format/write/json_lines.h"
#include "report/format/write/leak_formats.h"
#include "report/format/write/merge_formats.h"
#include "report/format/write/process_list.h"
#include "report/format/write/string_formats.h"
#include "report/format/write/summary_formats.h"
#include "report/format/write/suspect_formats.h"
#include "report/format/write/together.h"
#include "report/format/write/trace_lines.h"

// The table of all formats, one row each: what it is called, the extensions of its files, and the
// writer of each report that can be written in it. Everything else that lists formats, chooses one
// or refuses one, uses these rows.
namespace heapattach {

namespace snapshot {
struct CountTable;
struct Examination;
}  // namespace snapshot
namespace analyze {
struct FindMatches;
struct Neighbourhood;
struct ObjectSizes;
struct Why;
}  // namespace analyze
namespace stacks {
struct StackReport;
}

// Returns a report as text. Only writers for people need to know a style. Empty if the report
// cannot be written in the format.
template <class... What>
class TextWriter {
 public:
  constexpr TextWriter() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a row of the table just names its functions
  constexpr TextWriter(std::string (*write)(What...)) : plain_(write) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr TextWriter(std::string (*write)(What..., const TextStyle&)) : styled_(write) {}

  constexpr explicit operator bool() const { return plain_ != nullptr || styled_ != nullptr; }
  [[nodiscard]] std::string operator()(What... what, const TextStyle& style) const {
    return styled_ != nullptr ? styled_(what..., style) : plain_(what...);
  }

 private:
  std::string (*plain_)(What...) = nullptr;
  std::string (*styled_)(What..., const TextStyle&) = nullptr;
};

enum class ReadBy : std::uint8_t {
  Programs,
  Browsers,  // Markdown: for people, after a program has laid it out
  People,    // as it is: in colour, and with the width and the letters of the terminal
};

// The parts of a snapshot that a format needs.
enum class ExportNeeds : std::uint8_t {
  Objects,   // every snapshot has them
  Offsets,   // offsets of pointers; a snapshot saved as JSON Lines has keys instead
  Words,     // Snapshot::contents, at least the words that are pointers
  Contents,  // … all of it
};

struct Format {
  std::string_view name = {};        // of --format
  std::string_view extensions = {};  // of its files, separated by spaces; empty: none is unique
  ReadBy read_by = ReadBy::Programs;
  bool is_binary = false;
  // The files of several snapshots or traces, one after the other, are one file: a timeline.
  bool is_series = false;
  bool with_short_frames = false;  // frames of a trace are shown by name alone, unless chosen
  ExportNeeds needs = ExportNeeds::Objects;

  // Joins the reports on several processes; null if they can follow one another.
  std::string (*join)(std::span<const ReportText> reports) = nullptr;

  // The writers, by report. Those with a sink write everything, but do not finish the sink.
  using Snapshot = snapshot::Snapshot;
  using Trace = trace::Trace;
  Result<JsonLinesWritten> (*snapshot_lines)(const Snapshot&, Sink&, const JsonLinesOptions&) = {};
  Result<void> (*snapshot)(const Snapshot&, Sink&, const ExportOptions&) = {};
  Result<bool> (*trace_lines)(const Trace&, Sink&, const TraceLinesOptions&) = {};
  Result<void> (*trace)(const Trace&, Sink&, const TraceExportOptions&) = {};
  // Pages: of a trace with the process's heap, if that is not null; and of the last of several
  // snapshots, with what grew.
  Result<void> (*trace_page)(
      const Trace&, const Snapshot*, const trace::SiteChoice&, Sink&, const ExportOptions&) = {};
  Result<void> (*growth_page)(const Snapshot&,
                              const GrowthReport&,
                              Sink&,
                              const ExportOptions&) = {};
  TextWriter<const snapshot::CountTable&> counts = {};
  TextWriter<const snapshot::CountTable&> latest_counts = {};  // of a watch, round by round
  TextWriter<const GrowthReport&> growth = {};
  TextWriter<const trace::SiteTable&> sites = {};
  TextWriter<const stacks::StackReport&> stacks = {};
  TextWriter<const Snapshot&, const SuspectReport&> suspects = {};
  TextWriter<const Snapshot&, const analyze::Why&> why = {};
  TextWriter<const Snapshot&, const analyze::Neighbourhood&> graph = {};
  TextWriter<const Snapshot&, const analyze::FindMatches&, std::size_t> found = {};
  TextWriter<const Snapshot&, const analyze::ObjectSizes&> object_sizes = {};
  TextWriter<const Snapshot&, const LeakReport&> leaks = {};
  TextWriter<const StringReport&> strings = {};
  TextWriter<const SummaryReport&> summary = {};
  TextWriter<const snapshot::Examination&> check = {};
  TextWriter<const DiagnosisReport&> diagnosis = {};
  TextWriter<const snapshot::ProcessList&> processes = {};
  TextWriter<const analyze::MergedTable&> merged = {};
};

// Whether a format has one of these writers.
using Writes = bool (*)(const Format&);
template <auto... Writers>
[[nodiscard]] bool writes(const Format& format) {
  return (static_cast<bool>(format.*Writers) || ...);
}

// The formats with the writer, in the order in which help lists them; the first is the default.
[[nodiscard]] std::vector<const Format*> formats_with(Writes writer);

// Null if no format with the writer has that name.
[[nodiscard]] const Format* find_format(
    std::string_view name, Writes writer = [](const Format&) { return true; });

// Whether the format needs Snapshot::contents.
[[nodiscard]] inline bool needs_contents(const Format& format) {
  return format.needs == ExportNeeds::Words || format.needs == ExportNeeds::Contents;
}

// Unsupported, with a suggestion, if the snapshot lacks what the format needs.
[[nodiscard]] Result<void> check_exportable(const Format& format,
                                            const snapshot::Snapshot& snapshot);

}  // namespace heapattach
