#pragma once

#include <vector>

#include "report/stacks/descriptors.h"
#include "report/stacks/stack_report.h"
#include "symbols/ruby/threads.h"

namespace heapattach::stacks {

// Gives the threads of a report what Ruby knows of them: their Ruby frames, and what they wait for.
// A thread of Ruby's that is none of the report's becomes a warning.
void add_ruby_threads(const std::vector<ruby::Thread>& threads,
                      Descriptors& descriptors,
                      StackReport& report);

// The wait of a Ruby thread of a report, if there is a kind for it.
[[nodiscard]] FiberWait wait_of(const ThreadSeen& thread);

}  // namespace heapattach::stacks
