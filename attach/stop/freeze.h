#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/arch/registers.h"
#include "attach/base/deadline.h"
#include "attach/process/process.h"

namespace heapattach {

// One thread in the state in which the freeze found it.
struct FrozenThread {
  pid_t tid = 0;
  std::string name;
  char state = '?';  // state letter before the stop: R, S, D, T, …
  // None if the thread could not be stopped (uninterruptible sleep, frozen cgroup). In that case,
  // `blocked_stack_pointer` holds its stack pointer if the kernel reports it.
  std::optional<Registers> registers;
  std::optional<RemoteAddr> blocked_stack_pointer;
  // The words of its other registers, such as xmm0; empty unless they were requested. A copy loop
  // may have the only pointer to an object there.
  std::vector<std::uint64_t> vector_registers{};
  pid_t tid_in_namespace = 0;  // in the target's own pid namespace; 0: not read, or the same

  // The number by which the thread knows itself.
  [[nodiscard]] pid_t number_in_target() const {
    return tid_in_namespace != 0 ? tid_in_namespace : tid;
  }
};

// Reads `tid_in_namespace` of each thread, if the process has a pid namespace of its own. Call it
// once the threads run again, where possible; the number of one that has ended stays unknown.
void add_own_numbers(const Process& process, std::vector<FrozenThread>& threads);

// Statistics about a freeze, for the summary and the header of the output.
struct FreezeReport {
  std::vector<FrozenThread> threads;
  std::chrono::nanoseconds pause{};  // from the first stop to the last release
  int passes = 0;                    // thread listings until no new thread appeared
  int rewound_calls = 0;             // interrupted blocking calls that were restarted transparently
};

// The longest that a freeze may last unless the user sets --max-pause. Every report uses this.
inline constexpr std::chrono::milliseconds kLongestFreeze{2000};

struct FreezeOptions {
  std::chrono::milliseconds thread_deadline{500};  // for each thread to stop
  std::chrono::milliseconds budget =
      kLongestFreeze;  // for the whole freeze; the work must respect it too
  // When the whole run must end. Waiting until another heapattach has released the process takes at
  // most half of the time left.
  Deadline deadline{};
  bool rewind = true;  // restart calls without a timeout that the stop interrupted
  // `work` only reads and runs on a separate thread. If it exceeds the budget, the target is
  // released without waiting for it, and we give up (guardian.h).
  bool reads_only = false;
  bool with_vector_registers = false;
  bool for_cleaning = false;  // continue even after the user has interrupted us
};

// The view of the frozen process that is passed to the work.
struct FrozenView {
  const std::vector<FrozenThread>& threads;
  std::chrono::steady_clock::time_point deadline;  // when the work must have ended
};

// Stops every thread of `process`, including threads that appear while it does so, runs `work`, and
// releases all threads, whatever happens.
//
// A separate thread does all tracing: when it ends, the kernel releases even a thread that never
// stopped. `work` runs on that thread, or on another if it only reads, with the highest priority
// that we may have and with our signals blocked; threads that `work` starts inherit both. Returns
// an error if the freeze or the work fails. In either case the target runs again (or stays stopped,
// if its user had stopped it) when this returns.
Result<FreezeReport> while_frozen(const Process& process,
                                  const FreezeOptions& options,
                                  const std::function<Result<void>(const FrozenView&)>& work);

}  // namespace heapattach
