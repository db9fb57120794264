#pragma once

#include <cstdint>
#include <functional>

#include "attach/result.h"
#include "report/deadline.h"
#include "report/format/read/line_source.h"
#include "report/trace/trace.h"

// Reads a trace of write/trace_lines.h, plain or in gzip, into the model that a live process gives.
//
// - Unknown records and keys are skipped, but must be JSON. Blank lines are ignored.
// - The header comes first, the end record last, and what a record names before it.
// - A file that ends early, in the middle of a line or of its compressed data, is a partial trace.
// - Any other mistake refuses the file: Malformed, with its line. A file that is not a trace, or
//   has a later version, is Unsupported.
namespace heapattach::read {

struct ReadTraceOptions {
  std::size_t block_bytes = std::size_t{1} << 20;  // of lines that are read at a time
  Deadline deadline;
  // Called now and then with the number of events read. May be empty.
  std::function<void(std::uint64_t events)> on_progress;
};

// `file` is open, and nothing of it was read.
Result<trace::Trace> read_trace_lines(TextFile file, const ReadTraceOptions& options);

}  // namespace heapattach::read
