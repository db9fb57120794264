#pragma once

#include "report/stacks/stack_report.h"
#include "report/stacks/stack_target.h"

namespace heapattach::stacks {

// Where every thread of a process stands, and every fiber of a Crystal program. Stops the process
// for as long as it takes to copy its stacks; all else is done before and after.
Result<StackReport> take_stacks(const StackOptions& options);

}  // namespace heapattach::stacks
