#pragma once

#include <optional>
#include <set>

#include "attach/process/process.h"

namespace heapattach {

// Finds processes that share the memory of another one but are not its threads, as after vfork(2)
// or clone(2) with CLONE_VM. They run on while that one is stopped.
class MemorySharers {
 public:
  // `process` must outlive this.
  explicit MemorySharers(const Process& process) : process_(process) {}

  // One of them; none if we see none. Memory is shared from birth or never, so a second look
  // is at new processes only, and quick. Where the kernel has no kcmp(2), it finds none.
  std::optional<pid_t> find();

 private:
  const Process& process_;
  std::set<pid_t> others_;  // that do not share it
};

}  // namespace heapattach
