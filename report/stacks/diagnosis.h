#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

// What is wrong with a process that hangs, as far as the waits of its threads and fibers show it.
// One line each, the most certain first; nothing if nothing is found.
struct Diagnosis {
  // Proved: owners of locks in a circle; fibers that nothing is left to wake; a thread that never
  // gives up its processor.
  std::vector<std::string> findings;
  // Possibly normal: many that wait for others that can still act.
  std::vector<std::string> remarks;
  // The first finding that a thread or fiber is part of, by its number in the report.
  std::map<std::size_t, std::size_t> finding_of_thread;
  std::map<std::size_t, std::size_t> finding_of_fiber;
};

[[nodiscard]] Diagnosis diagnose(const StackReport& report);

}  // namespace heapattach::stacks
