#pragma once

#include <sys/types.h>

#include "attach/freeze.h"
#include "inject/remote_control.h"

namespace heapattach {

// Releases all threads of a freeze except `kept`, long before the freeze ends. With `rewind`, the
// untimed calls that the freeze interrupted continue, as at its end.
void release_others(RemoteControl& control,
                    const Process& process,
                    const FrozenView& view,
                    pid_t kept,
                    bool rewind);

}  // namespace heapattach
