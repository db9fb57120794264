#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/process.h"

namespace heapattach {

// One thread as it can be seen without stopping it; each moment differs from the next.
struct ObservedThread {
  pid_t tid = 0;
  std::string name;
  char state = '?';
  // Only of a thread that blocks in the kernel, and only where we may look: ptrace(2), read mode.
  std::optional<RemoteAddr> stack_pointer;
  std::optional<RemoteAddr> instruction_pointer;
};

// The threads of a process that may not or cannot be stopped, without tracing any of them. Those
// that end meanwhile are left out. Gone if the process has ended.
Result<std::vector<ObservedThread>> observe_threads(const Process& process);

}  // namespace heapattach
