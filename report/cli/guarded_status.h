#pragma once

#include "attach/guardian.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"

namespace heapattach {

// The exit status for the end of guarded work. Prints what the work could not print itself. If a
// signal ended the work, the same signal ends this process.
[[nodiscard]] ExitStatus status_of(const GuardedEnd& end, Console& console);

}  // namespace heapattach
