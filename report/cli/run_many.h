#pragma once

#include <functional>
#include <vector>

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/exit_status.h"

namespace heapattach {

// The processes selected by the options: those given, a tree, or those with a name. Gone, with a
// description of the search, if there are none.
[[nodiscard]] Result<std::vector<pid_t>> chosen_processes(const Options& options);

// One run of a report, for the process in its options.
using RunOne = std::function<ExitStatus(const Options& options)>;

// Runs one report after another; the failure of one does not affect the others. On standard output,
// a line that names the process precedes each human-readable report. The status is that of the
// first report that was not complete. With a tree or a name, processes that have ended or have no
// heap are ignored if others gave a report.
[[nodiscard]] ExitStatus run_many(const Options& options,
                                  const std::vector<pid_t>& pids,
                                  const RunOne& run,
                                  Console& console);

}  // namespace heapattach
