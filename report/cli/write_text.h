#pragma once

#include <string_view>

#include "attach/result.h"
#include "report/cli/options.h"
#include "report/deadline.h"

namespace heapattach {

// Writes a report that is one piece of text to where the options say, compressed if they say so.
Result<void> write_text(const Options& options, const Deadline& deadline, std::string_view text);

}  // namespace heapattach
