#pragma once

#include <string>

#include "attach/result.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/format/write/output_file.h"

namespace heapattach {

// Opens where the options send the report: before the target is looked at, which should not be held
// in vain. Usage if a terminal would get what nobody reads there.
Result<OpenOutput> open_output(const Options& options, const Deadline& deadline);

// Whether an error is that of a reader of standard output that has gone (`| head`), who has had
// what it wanted. A named pipe's is not: what was to be in a file is missing.
[[nodiscard]] bool has_reader_gone(const Options& options, const Error& error);

// Writes a report's text as it is shown, compressed if the options say so.
Result<void> write_shown(const Options& options, std::string text, Sink& sink);

}  // namespace heapattach
