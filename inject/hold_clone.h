#pragma once

#include "attach/process.h"

namespace heapattach {

// Takes hold of a new clone while it sleeps; the calling thread then traces it. PTRACE_O_EXITKILL,
// which must never be set on a target, is right here: only we use the clone. Gone if the clone has
// ended before.
Result<void> hold_clone(const Process& clone);

// Ends a clone that the calling thread traces. True once it is dead and reaped.
bool kill_and_wait(const Process& clone);

}  // namespace heapattach
