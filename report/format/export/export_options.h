#pragma once

#include <cstdint>
#include <functional>

#include "attach/base/deadline.h"
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
  bool is_later = false;  // the file has a snapshot already
};

}  // namespace heapattach
