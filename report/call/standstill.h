#pragma once

#include <map>
#include <optional>
#include <utility>

#include <sys/types.h>

#include "attach/process/process.h"

namespace heapattach {

// Whether anything in a process moves. A copy of a process that stands still is like the one
// before.
class Standstill {
 public:
  explicit Standstill(const Process& process) : process_(process) { static_cast<void>(look()); }

  // Whether every thread is blocked in a system call at the same place as at the last look. A
  // thread that went round a loop between the looks, and came back to that place, looks the same.
  bool look();

 private:
  // Its stack pointer and instruction pointer; none: it runs, or cannot be seen.
  using Place = std::optional<std::pair<std::uint64_t, std::uint64_t>>;

  const Process& process_;
  std::map<pid_t, Place> places_;
};

}  // namespace heapattach
