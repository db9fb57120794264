#pragma once

#include <functional>
#include <vector>

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"

namespace heapattach {

// The processes that the options choose: those given, a tree, or those with a name. Gone, with the
// description of the search, if there are none.
[[nodiscard]] Result<std::vector<pid_t>> chosen_processes(const Options& options);

// One run of a report, for the process in its options.
using RunOne = std::function<ExitStatus(const Options& options)>;

// One report after another; a failure of one does not affect the others. On standard output, each
// report for people has a line before it that names its process. The status is FailIfHeld
// if a condition holds for one of them, otherwise that of the first incomplete one. For a tree or a
// name, processes that have ended meanwhile or have no heap do not count if others have given a
// report.
[[nodiscard]] ExitStatus run_many(const Options& options,
                                  const std::vector<pid_t>& pids,
                                  const RunOne& run,
                                  Console& console);

}  // namespace heapattach
