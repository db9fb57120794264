#pragma once

#include <vector>

#include "attach/freeze.h"
#include "inject/remote_control.h"

namespace heapattach {

// The numbers, as the target knows them, of clones of ours that have ended unnoticed: those of a
// heapattach that was killed. They are children of the target, zombies, and called kCloneName, or
// were killed before they were.
std::vector<pid_t> dead_clones(const Process& target);

// The stubs that a heapattach that was killed has left in the target's padding.
struct LeftStub {
  Range range;
  RemoteAddr stack;  // of the thread that was to run it
};
std::vector<LeftStub> left_stubs(const MemoryMap& map, const MemoryReader& memory);

// Whether a thread may still be in `stub`, or come back to it from a signal handler or a function
// that it called. `view` is of the target frozen. True where that cannot be told.
bool is_in_use(const LeftStub& stub,
               const FrozenView& view,
               const MemoryMap& map,
               const MemoryReader& memory);

// Clears away all of that, and has the target take notice of the clones in `also`, too. Stops the
// target only if there is something. A stub that may be in use stays.
//
// wait4 with __WCLONE sees only children without the usual exit signal, so none that the target
// waits for can be taken from it.
Result<void> clear_leftovers(const Process& target,
                             RemoteControl& control,
                             std::vector<pid_t> also = {});

// The same for a report that has nothing else to write to its target.
Result<void> clear_leftovers(const Process& target);

}  // namespace heapattach
