#pragma once

#include <vector>

#include "attach/stop/freeze.h"
#include "inject/remote_control.h"

namespace heapattach {

// The pids, in the target's view, of dead clones that a killed heapattach left behind. A dead clone
// is a zombie child of the target. Its name is kCloneName, unless it was killed before it set that
// name.
std::vector<pid_t> dead_clones(const Process& target);

// A stub that a killed heapattach left in the target's padding.
struct LeftStub {
  Range range;
  RemoteAddr stack;  // the stack pointer of the thread for which it was written
};
std::vector<LeftStub> left_stubs(const MemoryMap& map, const MemoryReader& memory);

// Whether a thread may still be in `stub`, or return to it from a signal handler or from a function
// that the stub called. `view` is of the frozen target. True if a thread's registers are unknown.
bool is_in_use(const LeftStub& stub,
               const FrozenView& view,
               const MemoryMap& map,
               const MemoryReader& memory);

// Removes all stubs and dead clones that a killed heapattach left, and makes the target reap the
// clones in `also`, too. Stops the target only if there is something to remove. A stub that may be
// in use stays.
//
// The target reaps clones with wait4 and __WCLONE, which sees only children without the usual exit
// signal. So it cannot take a child for which the target waits.
Result<void> clear_leftovers(const Process& target,
                             RemoteControl& control,
                             const Deadline& deadline,
                             std::vector<pid_t> also = {});

// Removes leftovers at the end of any report. First waits until clones whose heapattach was killed
// have ended, so that they are reaped, too; waits for some seconds at most, and not past the
// deadline.
Result<void> clear_leftovers(const Process& target, const Deadline& deadline);

}  // namespace heapattach
