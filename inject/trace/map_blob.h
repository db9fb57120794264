#pragma once

#include "inject/trace/in_target.h"
#include "inject/trace/plan.h"

namespace heapattach::trace {

// Makes the target map the code, the control pages and the ring of a plan, from the shared memory
// that it has as `descriptor`. The ranges must be free. After an error, some may be mapped.
Result<void> map_blob(InTarget& target, const Plan& plan, int descriptor);

}  // namespace heapattach::trace
