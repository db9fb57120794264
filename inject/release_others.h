#pragma once

#include <sys/types.h>

#include "attach/stop/freeze.h"
#include "inject/remote_control.h"

namespace heapattach {

// Releases all threads of a freeze except `kept`, before the freeze ends. With `rewind`, calls
// without a timeout that the freeze interrupted are restarted, as at the end of a freeze.
void release_others(RemoteControl& control,
                    const Process& process,
                    const FrozenView& view,
                    pid_t kept,
                    bool rewind);

}  // namespace heapattach
