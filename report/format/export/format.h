#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "report/deadline.h"
#include "report/format/write/sink.h"
#include "report/model/model.h"

// A snapshot in the formats of other people's tools, one file for each, which opens with what its
// readers really accept. What they have in common:
//
// - Objects that nothing reaches are in them only where the snapshot has them in its counts.
// - Totals are those of --count in all of them: objects, bytes, and both by type.
// - They stream: memory is that of the snapshot and of what was computed of it, never of the
// output.
// - They have no place for "partial" as JSON Lines have; where there is room for a remark it says
//   so. A deadline that passes is an error, and nothing appears under the final name.
// - Names and values come from the target, and each format escapes them in its own way.
namespace heapattach {

struct ExportOptions {
  bool with_gzip = false;
  bool with_values = false;  // whether contents may be told where the format has a place for them
  Deadline deadline;
  // Told now and then how many objects were written. May be empty.
  std::function<void(std::uint64_t objects)> on_progress;
};

// What of a snapshot a format cannot do without.
enum class ExportNeeds : std::uint8_t {
  Objects,   // that is in all
  Offsets,   // of pointers: a snapshot that was saved as JSON Lines has keys instead
  Words,     // Snapshot::contents, at least those words that are pointers
  Contents,  // … all of it
};

struct ExportFormat {
  std::string_view name;       // of --format
  std::string_view extension;  // of a file that has it; empty: none says so
  std::string_view what;       // who reads it, for --help
  // Writes all of the snapshot; does not finish the sink.
  Result<void> (*write)(const snapshot::Snapshot&, Sink&, const ExportOptions&);
  ExportNeeds needs = ExportNeeds::Objects;
};

// All there are, in the order in which --help lists them.
[[nodiscard]] std::span<const ExportFormat> export_formats();

// Whether Snapshot::contents must be kept for it.
[[nodiscard]] inline bool needs_contents(const ExportFormat& format) {
  return format.needs == ExportNeeds::Words || format.needs == ExportNeeds::Contents;
}

// Unsupported, with what to do instead, if the snapshot lacks what the format needs.
[[nodiscard]] Result<void> check_exportable(const ExportFormat& format,
                                            const snapshot::Snapshot& snapshot);

// Null if there is none of that name.
[[nodiscard]] const ExportFormat* find_export_format(std::string_view name);

// Null if no format goes by that extension, given without its dot.
[[nodiscard]] const ExportFormat* export_format_of_extension(std::string_view extension);

}  // namespace heapattach
