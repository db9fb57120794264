#pragma once

#include "report/stacks/stack_report.h"
#include "report/stacks/stack_target.h"

namespace heapattach::stacks {

// Takes the stacks of every thread of a process, and of every fiber of a Crystal program. Stops the
// process only while its stacks are copied; everything else happens before and after.
Result<StackReport> take_stacks(const Request& request);

}  // namespace heapattach::stacks
