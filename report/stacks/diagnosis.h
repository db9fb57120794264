#pragma once

#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

// Says what is wrong with a process that hangs, as far as it can be seen from what its threads and
// fibers wait for: cycles of owners, fibers that nobody can wake any more, a thread or fiber that
// never lets go of its processor. One line each, the surest first; nothing where nothing is seen.
[[nodiscard]] std::vector<std::string> diagnose(const StackReport& report);

}  // namespace heapattach::stacks
