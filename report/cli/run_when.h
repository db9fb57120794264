#pragma once

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/exit_status.h"

namespace heapattach {

// `heapattach watch --when`: waits until a condition is true of a process, then saves a snapshot
// and a diagnosis. Ends when the last of the given processes ends, or on SIGINT or SIGTERM. It
// stays small: each report is a process of its own, which the kernel kills first if memory runs
// out.
[[nodiscard]] ExitStatus run_when(const Options& options, const Console::Settings& settings);

}  // namespace heapattach
