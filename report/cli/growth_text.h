#pragma once

#include <string>

#include "report/cli/options.h"
#include "report/format/write/growth_formats.h"

namespace heapattach {

// The report as the options want it, with the rows that they choose; on a terminal no more of them
// than a screen holds, unless they say otherwise.
[[nodiscard]] std::string growth_text(const Options& options, GrowthReport report);

}  // namespace heapattach
