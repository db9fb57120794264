#pragma once

#include "report/cli/options.h"
#include "report/write/table.h"

namespace heapattach {

// How a report is to look where these options send it: colour and the terminal's width on a
// terminal, or as --color says.
[[nodiscard]] Look look_of(const Options& options);

}  // namespace heapattach
