#pragma once

#include "attach/base/guardian.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"

namespace heapattach {

// The exit status after guarded work has ended. Prints what the work could not print itself. If a
// signal killed the work, kills this process with the same signal.
[[nodiscard]] ExitStatus status_of(const GuardedEnd& end, Console& console);

}  // namespace heapattach
