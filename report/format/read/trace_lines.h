#pragma once

#include <cstdint>
#include <functional>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "report/format/read/line_source.h"
#include "report/trace/trace.h"

// Reads a trace written by write/trace_lines.h, plain or gzipped, into the same model as that of a
// live process.
//
// - Unknown records and keys are skipped, but must be JSON. Blank lines are ignored.
// - The header comes first and the end record last. Records come after those that they refer to.
// - A file that ends early, in the middle of a line or of its compressed data, is a partial trace.
// - Any other error makes the file Malformed, with the line number, and so does a later version.
namespace heapattach::read {

struct ReadTraceOptions {
  std::size_t block_bytes = std::size_t{1} << 20;  // of lines that are read at a time
  Deadline deadline;
  // Called occasionally with the number of events read. May be empty.
  std::function<void(std::uint64_t events)> on_progress;
};

// `file` is open, and nothing has been read from it.
Result<trace::Trace> read_trace_lines(TextFile file, const ReadTraceOptions& options);

}  // namespace heapattach::read
