#pragma once

#include <string_view>

#include "attach/result.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/write/output_file.h"

namespace heapattach {

// Opens where the options send a report that is one piece of text: before the target is looked at,
// which should not be held in vain.
Result<OpenOutput> open_output(const Options& options, const Deadline& deadline);

// Writes the report there, compressed if the options say so.
Result<void> write_text(const Options& options,
                        const Deadline& deadline,
                        OpenOutput output,
                        std::string_view text);

}  // namespace heapattach
