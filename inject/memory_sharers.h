#pragma once

#include <optional>
#include <set>

#include "attach/process/process.h"

namespace heapattach {

// Finds processes that share the memory of a process but are not its threads, as after vfork(2) or
// clone(2) with CLONE_VM. Such a process runs on while the threads are stopped.
class MemorySharers {
 public:
  // `process` must outlive this.
  explicit MemorySharers(const Process& process) : process_(process) {}

  // Returns one such process; nothing if we see none, or if the kernel has no kcmp(2). A process
  // shares memory from birth or never, so a second search looks only at new processes and is quick.
  std::optional<pid_t> find();

 private:
  const Process& process_;
  std::set<pid_t> others_;  // processes that do not share the memory
};

}  // namespace heapattach
