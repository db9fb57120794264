#pragma once

#include <functional>

#include "report/call/function_call.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"
#include "report/deadline.h"

namespace heapattach {

using Call = std::function<Result<CallReport>(
    const Options& options, const Deadline& deadline, Console& console)>;

// A run of --call: calls, passes on what the function wrote, and says what it returned, or what
// became of it.
[[nodiscard]] ExitStatus run_call(const Options& options, const Call& call, Console& console);

}  // namespace heapattach
