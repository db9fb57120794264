#pragma once

#include <vector>

#include "attach/stop/freeze.h"
#include "inject/remote_control.h"

namespace heapattach {

// The pids, in the target's view, of dead clones that a killed heapattach left behind. They are
// zombie children of the target, named kCloneName unless they were killed before they set that
// name.
std::vector<pid_t> dead_clones(const Process& target);

// A stub that a killed heapattach left in the target's padding.
struct LeftStub {
  Range range;
  RemoteAddr stack;  // of the thread that it was written for
};
std::vector<LeftStub> left_stubs(const MemoryMap& map, const MemoryReader& memory);

// Whether a thread may still be in `stub`, or return to it from a signal handler or a function that
// the stub called. `view` is of the frozen target. True if unknown.
bool is_in_use(const LeftStub& stub,
               const FrozenView& view,
               const MemoryMap& map,
               const MemoryReader& memory);

// Removes all of these, and makes the target reap the clones in `also` too. Stops the target only
// if there is something to remove. A stub that may be in use stays.
//
// wait4 with __WCLONE sees only children without the usual exit signal, so it cannot take a child
// that the target waits for.
Result<void> clear_leftovers(const Process& target,
                             RemoteControl& control,
                             const Deadline& deadline,
                             std::vector<pid_t> also = {});

// Removes leftovers at the end of any report. First waits, for some seconds at most and not past
// the deadline, until copies whose heapattach was killed have ended, so that they are reaped too.
Result<void> clear_leftovers(const Process& target, const Deadline& deadline);

}  // namespace heapattach
