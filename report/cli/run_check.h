#pragma once

#include <functional>

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"
#include "report/collect/examine.h"
#include "report/deadline.h"

namespace heapattach {

using Examine = std::function<Result<snapshot::Examination>(
    const Options& options, const Deadline& deadline, Console& console)>;

// A run of --check: examines, writes what was found, and ends with the status that a snapshot would
// have ended with at once, or Complete.
[[nodiscard]] ExitStatus run_check(const Options& options,
                                   const Examine& examine,
                                   Console& console);

}  // namespace heapattach
