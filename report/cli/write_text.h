#pragma once

#include <string>

#include "attach/result.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/format/write/output_file.h"

namespace heapattach {

// Opens the destination of the report, before the target is stopped, so that it is not stopped in
// vain. Usage if a terminal would get unreadable output.
Result<OpenOutput> open_output(const Options& options, const Deadline& deadline);

// Whether the reader of standard output has gone away (`| head`), having what it wanted. Not for a
// named pipe: there the file would be incomplete.
[[nodiscard]] bool has_reader_gone(const Options& options, const Error& error);

// Writes a report's text as it is shown, compressed if the options say so.
Result<void> write_shown(const Options& options, std::string text, Sink& sink);

}  // namespace heapattach
