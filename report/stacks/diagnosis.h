#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

// Diagnoses a hanging process from the waits of its threads and fibers. One line for each result,
// the most certain first.
struct Diagnosis {
  // Proven faults: owners of locks in a cycle; fibers that nothing is left to wake; a thread that
  // never yields the CPU.
  std::vector<Statement> findings;
  // Possibly normal facts: many fibers wait for others that can still act.
  std::vector<Statement> remarks;
  // The first finding that a thread or fiber is part of, by thread or fiber number in the report.
  std::map<std::size_t, std::size_t> finding_of_thread;
  std::map<std::size_t, std::size_t> finding_of_fiber;
};

[[nodiscard]] Diagnosis diagnose(const StackReport& report);

// "the mutex accounts", "a read-write lock": what a thread with a `gone_owner` waits for.
[[nodiscard]] std::string lost_lock(const ThreadSeen& thread);

}  // namespace heapattach::stacks
