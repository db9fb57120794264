#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "attach/base/result.h"

// Enforces a deadline whatever the work does. A thread that reads memory under a userfaultfd, or a
// file from a dead server, sleeps in the kernel until it gets an answer. It cannot check a
// deadline, and only SIGKILL ends it. So the process that the user started does no work itself. It
// forks a child that does, and kills the child when its time is up. The kernel then releases
// everything that the child traced.
namespace heapattach {

// Reports how guarded work ended.
struct GuardedEnd {
  std::optional<int> status;  // what the work returned; none if it did not return
  std::optional<int> signal;  // the signal that ended the work, or a second SIGINT or SIGTERM to us
  std::optional<int> asked_by;  // the signal that interrupted us
  std::string why;              // why the work gave up
  bool is_left = false;         // it did not die even when killed: it is waiting in the kernel
};

// Runs `work` in a forked child. Kills it shortly after `deadline` (the work can set a later one),
// and shortly after a SIGINT or SIGTERM, which is forwarded to it. Call it while this process has
// only one thread. If fork fails, the work runs in this process, unguarded.
GuardedEnd run_guarded(std::chrono::steady_clock::time_point deadline,
                       const std::function<int()>& work);

// The functions below are for the work. They do nothing without a guardian.

// Replaces the deadline of the guardian. It is the guardian's only: work looks at the Deadline that
// it is passed (deadline.h).
void set_guarded_deadline(std::chrono::steady_clock::time_point deadline) noexcept;

// Asks the guardian not to end us for `time`, because a step must not be cut short, such as
// restoring something.
void need_time(std::chrono::milliseconds time) noexcept;

// Something in another process must be put back. While one of these lives, a second SIGINT or
// SIGTERM does not end the work at once: the guardian waits for its end, some seconds at most.
class UntilRestored {
 public:
  UntilRestored() noexcept;
  ~UntilRestored();
  UntilRestored(const UntilRestored&) = delete;
  UntilRestored& operator=(const UntilRestored&) = delete;
};

// Ends the process at once, including threads that do not respond. Returns if there is no guardian.
void give_up(std::string_view why) noexcept;

// The process that guards this one; 0 if there is none.
[[nodiscard]] pid_t guardian_pid() noexcept;

}  // namespace heapattach
