#pragma once

#include "attach/process/process.h"

namespace heapattach {

// Seizes a new clone while it sleeps; the calling thread then traces it. PTRACE_O_EXITKILL must
// never be set on a target, but is right here because only we use the clone. Gone if the clone has
// already ended.
Result<void> hold_clone(const Process& clone);

// Ends a clone that the calling thread traces. True once it is dead and reaped.
bool kill_and_wait(const Process& clone);

}  // namespace heapattach
