#pragma once

#include <optional>
#include <string>

#include "attach/process/process.h"

namespace heapattach {

// How a process that is not our child ended, as far as the kernel reports that to others than its
// parent. Create this while the process is alive: later, the kernel reports less.
class ProcessEnd {
 public:
  // `process` must outlive this.
  explicit ProcessEnd(const Process& process);

  // As from waitpid. None while the process is alive, if its end is unknown, and for a zombie with
  // status 0: the kernel also shows 0 to processes that may not see the real status.
  [[nodiscard]] std::optional<int> status() const;
  // "exited with status 1", "was killed by SIGSEGV", "has ended".
  [[nodiscard]] std::string words() const;

 private:
  const Process& process_;
  Fd pidfd_;  // empty on kernels before 5.3
};

}  // namespace heapattach
