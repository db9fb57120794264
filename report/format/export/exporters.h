#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "report/deadline.h"
#include "report/format/write/sink.h"
#include "report/model/model.h"

// Writes snapshots in the formats of other tools. Each format has a source file, which starts with
// a description of what the readers of the format actually accept. All of them have in common:
//
// - Unreachable objects are included only if the snapshot counts them.
// - Totals are those of --count: objects, bytes, and both by type.
// - They stream: memory holds the snapshot and results computed from it, never the
//   output.
// - They cannot mark a file as partial, as JSON Lines can. A format with room for a remark has
//   one. A deadline that passes is an error, and nothing appears under the final name.
// - Names and values come from the target. Each format escapes them in its own way.
namespace heapattach {

struct ExportOptions {
  bool with_gzip = false;
  bool with_values = false;  // whether to include contents where the format has room for them
  Deadline deadline;
  // Called occasionally with the number of objects written. May be empty.
  std::function<void(std::uint64_t objects)> on_progress;
};

// What a format needs from a snapshot.
enum class ExportNeeds : std::uint8_t {
  Objects,   // every snapshot has them
  Offsets,   // offsets of pointers; a snapshot saved as JSON Lines has keys instead
  Words,     // Snapshot::contents, at least the words that are pointers
  Contents,  // … all of it
};

struct ExportFormat {
  std::string_view name;       // of --format
  std::string_view extension;  // of a file in this format; empty: none is unique
  std::string_view what;       // the programs that read it, for --help
  // Writes the whole snapshot; does not finish the sink.
  Result<void> (*write)(const snapshot::Snapshot&, Sink&, const ExportOptions&);
  ExportNeeds needs = ExportNeeds::Objects;
};

// All formats, in the order in which --help lists them.
[[nodiscard]] std::span<const ExportFormat> export_formats();

// Whether the format needs Snapshot::contents.
[[nodiscard]] inline bool needs_contents(const ExportFormat& format) {
  return format.needs == ExportNeeds::Words || format.needs == ExportNeeds::Contents;
}

// Unsupported, with a suggestion, if the snapshot lacks what the format needs.
[[nodiscard]] Result<void> check_exportable(const ExportFormat& format,
                                            const snapshot::Snapshot& snapshot);

// Null if there is none with that name.
[[nodiscard]] const ExportFormat* find_export_format(std::string_view name);

// Null if no format has that extension, given without its dot.
[[nodiscard]] const ExportFormat* export_format_of_extension(std::string_view extension);

}  // namespace heapattach
