#pragma once

#include <vector>

#include "attach/freeze.h"
#include "inject/remote_control.h"

namespace heapattach {

// The numbers, as the target knows them, of clones of ours that have ended unnoticed: those of a
// heapattach that was killed. They are children of the target, zombies, and called kCloneName, or
// were killed before they were.
std::vector<pid_t> dead_clones(const Process& target);

// Has a thread of the target take notice of these children. wait4 with __WCLONE sees only children
// without the usual exit signal, so none that the target waits for can be taken from it.
Result<void> reap_clones(const Process& target,
                         std::span<const pid_t> numbers,
                         RemoteControl& control);

}  // namespace heapattach
