#pragma once

#include "attach/guardian.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"

namespace heapattach {

// The exit status for how guarded work ended; says on the console what the work could not say
// itself. Where a signal ended it, this process ends by the same one.
[[nodiscard]] ExitStatus status_of(const GuardedEnd& end, Console& console);

}  // namespace heapattach
