#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/process.h"

namespace heapattach {

// One thread, seen without stopping it. The fields are from different moments.
struct ObservedThread {
  pid_t tid = 0;
  std::string name;
  char state = '?';
  // Only for a thread that blocks in the kernel, and only with ptrace(2) read access.
  std::optional<RemoteAddr> stack_pointer;
  std::optional<RemoteAddr> instruction_pointer;
};

// The threads of a process that may not or cannot be stopped, without tracing any of them. Omits
// those that end meanwhile. Gone if the process has ended.
Result<std::vector<ObservedThread>> observe_threads(const Process& process);

}  // namespace heapattach
