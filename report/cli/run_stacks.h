#pragma once

#include <functional>

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/stacks/stack_report.h"

namespace heapattach {

using TakeStacks = std::function<Result<stacks::StackReport>(
    const Options& options, const Deadline& deadline, Console& console)>;

// A run of --stacks: takes the stacks of the process and writes them.
[[nodiscard]] ExitStatus run_stacks(const Options& options,
                                    const TakeStacks& take,
                                    Console& console);

}  // namespace heapattach
