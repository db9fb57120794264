#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/process.h"
#include "attach/registers.h"

namespace heapattach {

// One thread in the state in which the freeze found it.
struct FrozenThread {
  pid_t tid = 0;
  std::string name;
  char state = '?';  // its state letter before the stop: R, S, D, T, …
  // None where the thread could not be stopped (uninterruptible sleep, a frozen cgroup). Its stack
  // pointer is then in `blocked_stack_pointer`, if the kernel shows it.
  std::optional<Registers> registers;
  std::optional<RemoteAddr> blocked_stack_pointer;
};

// What a freeze did, for the summary and the header of the output.
struct FreezeReport {
  std::vector<FrozenThread> threads;
  std::chrono::nanoseconds pause{};  // from the first stop to the last release
  int passes = 0;                    // listings until no new thread appeared
  int rewound_calls = 0;             // interrupted blocking calls that go on unnoticed
};

// How long a freeze may last, if the user does not choose (--max-pause). Every report uses this.
inline constexpr std::chrono::milliseconds kLongestFreeze{2000};

struct FreezeOptions {
  std::chrono::milliseconds thread_deadline{500};  // for each thread to stop
  std::chrono::milliseconds budget =
      kLongestFreeze;  // for the whole freeze; the work must respect it too
  bool rewind = true;  // re-issue untimed calls that the stop interrupted
  // `work` only reads, and runs on a thread of its own. If it does not end within the budget, the
  // target is released without it, and we give up (guardian.h).
  bool reads_only = false;
  bool for_cleaning = false;  // continues although the user has asked us to end
};

// What the work sees of the freeze.
struct FrozenView {
  const std::vector<FrozenThread>& threads;
  std::chrono::steady_clock::time_point deadline;  // when the work must have ended
};

// Stops every thread of `process`, including those that appear meanwhile, runs `work`, and releases
// all threads, whatever happens.
//
// A separate thread does all tracing: when it ends, the kernel releases even a thread that never
// stopped. `work` runs on that thread, or beside it if it only reads, at the highest priority that
// we may have and with signals to us blocked; threads that `work` starts inherit both. A failed
// freeze and failed work both give an error. In either case the target runs again (or stays
// stopped, if its user had stopped it) when this returns.
Result<FreezeReport> while_frozen(const Process& process,
                                  const FreezeOptions& options,
                                  const std::function<Result<void>(const FrozenView&)>& work);

}  // namespace heapattach
