#pragma once

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"

namespace heapattach {

// Runs the requested report on all sources: a file, sources to compare, or processes one after
// another. Cleans up the leftovers of a killed heapattach in each process.
[[nodiscard]] ExitStatus run_all(const Options& options, Console& console);

}  // namespace heapattach
