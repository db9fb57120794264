#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/process/process.h"

namespace heapattach {

// One thread, observed without stopping it. The fields may be from different moments.
struct ObservedThread {
  pid_t tid = 0;
  std::string name;
  char state = '?';
  // Known only if the thread is blocked in the kernel and we have ptrace(2) read access.
  std::optional<RemoteAddr> stack_pointer;
  std::optional<RemoteAddr> instruction_pointer;
};

// Lists the threads of a process that must not or cannot be stopped, without tracing any of them.
// Omits threads that end in the meantime. Gone if the process has ended.
Result<std::vector<ObservedThread>> observe_threads(const Process& process);

}  // namespace heapattach
