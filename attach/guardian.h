#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "attach/result.h"

// A deadline that holds whatever the work does. A thread that reads memory under a userfaultfd, or
// a file of a server that has stopped, sleeps in the kernel until it gets an answer. It checks no
// deadline, and only SIGKILL ends it. So the process that the user started does no work. It forks
// one that does, and ends that one when its time is over. The kernel then releases everything that
// it traced.
namespace heapattach {

// How guarded work ended.
struct GuardedEnd {
  std::optional<int> status;    // what the work returned; none if it did not return
  std::optional<int> signal;    // ended the work, or us: a second SIGINT or SIGTERM
  std::optional<int> asked_by;  // the signal that asked us to end
  std::string why;              // the reason that the work gave when it gave up
  bool is_left = false;         // it cannot even be killed: it waits in the kernel for an answer
};

// Runs `work` in a forked child. Kills it a little after `deadline` (later ones are set from
// within), and a little after a SIGINT or SIGTERM, which is forwarded to it. Call it while this
// process has one thread. If no process can be made, the work runs here, unguarded.
GuardedEnd run_guarded(std::chrono::steady_clock::time_point deadline,
                       const std::function<int()>& work);

// The rest is for the work, and does nothing without a guardian.

// Replaces the deadline.
void set_guarded_deadline(std::chrono::steady_clock::time_point deadline) noexcept;

// For steps that must not be cut short, such as restoring something: the deadline does not end it
// for `time`.
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

// The deadline, for code that does not get one; the latest possible time without a guardian.
[[nodiscard]] std::chrono::steady_clock::time_point guarded_deadline() noexcept;
// Timeout or Interrupted with what was being done, or nothing.
Result<void> check_guarded_time(std::string_view doing);

// Ends the process at once, with threads that do not respond. Returns if there is no guardian.
void give_up(std::string_view why) noexcept;

// The process that guards this one; 0 if there is none.
[[nodiscard]] pid_t guardian_pid() noexcept;

}  // namespace heapattach
