#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

// What is wrong with a process that hangs, as far as it can be seen from what its threads and
// fibers wait for. One line each, the surest first; nothing where nothing is seen.
struct Diagnosis {
  // Proved: owners of locks in a circle; fibers that nobody is left to wake; a thread that never
  // lets go of its processor.
  std::vector<std::string> findings;
  // May be as it should: many who wait for others that can still come.
  std::vector<std::string> remarks;
  // The first finding that a thread or fiber is part of, by its number in the report.
  std::map<std::size_t, std::size_t> finding_of_thread;
  std::map<std::size_t, std::size_t> finding_of_fiber;
};

[[nodiscard]] Diagnosis diagnose(const StackReport& report);

}  // namespace heapattach::stacks
