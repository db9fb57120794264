#pragma once

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"

namespace heapattach {

// Runs the report of the options on all that they name: a file, sources to compare, or processes
// one after the other. Of each process it clears up what a heapattach that was killed has left.
[[nodiscard]] ExitStatus run_all(const Options& options, Console& console);

}  // namespace heapattach
