#pragma once

#include "inject/trace/in_target.h"
#include "inject/trace/plan.h"

namespace heapattach::trace {

// Makes the target map the code, the control pages and the ring of a plan, from the shared memory
// that is `descriptor` in the target. The ranges must be free. After an error, some may be mapped.
Result<void> map_blob(InTarget& target, const Plan& plan, int descriptor);

// Checks that `file` was mapped: a process that shares the descriptor table may have put another
// file under the number. If it has, everything is unmapped again, and the error is Impossible.
Result<void> check_mapped(InTarget& target,
                          const Process& process,
                          const Plan& plan,
                          const Fd& file);

}  // namespace heapattach::trace
