#pragma once

#include <optional>
#include <string>

#include "attach/process.h"

namespace heapattach {

// How a process that is not our child ended, as far as the kernel tells anyone but its parent.
// Create it while the process is alive: then the kernel tells the most.
class ProcessEnd {
 public:
  // `process` must outlive this.
  explicit ProcessEnd(const Process& process);

  // As from waitpid. None while it is alive, if its end is unknown, and for a zombie that seems to
  // have exited with status 0: the kernel also shows that to those who may not know the status.
  [[nodiscard]] std::optional<int> status() const;
  // "exited with status 1", "was killed by SIGSEGV", "has ended".
  [[nodiscard]] std::string words() const;

 private:
  const Process& process_;
  Fd pidfd_;  // empty on kernels before 5.3
};

}  // namespace heapattach
