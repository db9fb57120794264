#pragma once

#include "attach/process/process.h"

namespace heapattach {

// Seizes a new clone while it sleeps; the calling thread then traces it. Sets PTRACE_O_EXITKILL,
// which must never be set on a target, but is right for a clone because only we use it. Returns
// Gone if the clone has already ended.
Result<void> hold_clone(const Process& clone);

// Ends a clone that the calling thread traces. Returns true if it is dead and reaped.
bool kill_and_wait(const Process& clone);

}  // namespace heapattach
