#pragma once

#include "attach/process.h"

namespace heapattach {

// Takes hold of a clone that was just made, where it sleeps; the calling thread traces it then.
// PTRACE_O_EXITKILL, which no target of ours must ever see, is right here: nobody else has any use
// for it. Gone if the clone has ended before.
Result<void> hold_clone(const Process& clone);

// Ends a clone that the calling thread traces. True once it is dead and has been taken notice of.
bool kill_and_wait(const Process& clone);

}  // namespace heapattach
