#pragma once

#include <string>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "report/cli/options.h"
#include "report/format/write/output_file.h"

namespace heapattach {

// Opens the destination of the report. Call it before the target is stopped, so that it is not
// stopped in vain. Usage if unreadable output would go to a terminal.
Result<OpenOutput> open_output(const Options& options, const Deadline& deadline);

// Whether the reader of standard output has exited because it had seen enough (`| head`). False for
// a named pipe, because its reader would get an incomplete file.
[[nodiscard]] bool has_reader_gone(const Options& options, const Error& error);

// Writes a report's text, compressed if requested.
Result<void> write_shown(const Options& options, std::string text, Sink& sink);

}  // namespace heapattach
