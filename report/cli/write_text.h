#pragma once

#include <string>
#include <string_view>

#include "attach/result.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/format/write/output_file.h"

namespace heapattach {

// Opens where the options send a report that is one piece of text: before the target is looked at,
// which should not be held in vain.
Result<OpenOutput> open_output(const Options& options, const Deadline& deadline);

// Writes the report there, compressed if the options say so.
// A reader of standard output that has gone (`| head`) has had what it wanted: no error.
Result<void> write_text(const Options& options,
                        const Deadline& deadline,
                        OpenOutput output,
                        std::string_view text);

// Whether an error is that of a reader of standard output that has gone. A named pipe's is not:
// what was to be in a file is missing.
[[nodiscard]] bool has_reader_gone(const Options& options, const Error& error);

// What people read, in ASCII where the place that it goes to wants that; else as it is.
[[nodiscard]] std::string for_people(const Options& options, std::string text);

}  // namespace heapattach
