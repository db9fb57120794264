#pragma once

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"

namespace heapattach {

// `heapattach watch --when`: waits until a condition is true of a process, and saves what there is
// to see then. Ends with the last of the given processes, or by SIGINT or SIGTERM. It stays small:
// each look and each capture is a process of its own, which the kernel kills first if memory runs
// out.
[[nodiscard]] ExitStatus run_when(const Options& options, const Console::Settings& settings);

}  // namespace heapattach
