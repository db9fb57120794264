#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/stop/freeze.h"
#include "report/call/safe_point.h"
#include "report/call/stack_copies.h"
#include "symbols/elf/module.h"

namespace heapattach {

// Finds threads of a process on which a function may be called: copies their stacks while the
// process is stopped, and checks them afterwards.
class SafeThreads {
 public:
  SafeThreads(const Process& process, const Modules& modules)
      : process_(process), modules_(modules) {}

  // Copies the stacks of the frozen threads, or only that of `only`. Fails if nothing may run in
  // the process at all.
  Result<void> copy(const FrozenView& view,
                    std::optional<pid_t> only,
                    const MemoryMap& map,
                    const MemoryReader& memory);

  // Returns the threads at a safe point, the first thread of the process first. Call it while this
  // process has one thread, because it forks a worker.
  Result<std::vector<SafePoint>> judge();

  // Records why a thread is not suitable: "thread 12: it is in malloc or free".
  void object(pid_t tid, std::string_view why);
  [[nodiscard]] std::string objections() const;

 private:
  std::optional<SafePoint> judge(const unwind::StackRecord& record);
  [[nodiscard]] CodeName name_of_code(RemoteAddr pc) const;
  [[nodiscard]] Range own_function(RemoteAddr pc) const;

  const Process& process_;
  const Modules& modules_;
  StackCopies copies_;
  std::vector<FrozenThread> threads_;
  std::vector<std::string> objections_;
};

}  // namespace heapattach
