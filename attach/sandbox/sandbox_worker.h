#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include <sys/types.h>

#include "attach/base/fd.h"
#include "attach/base/result.h"
#include "attach/sandbox/sandbox.h"

// Shared by the two kinds of sandboxed workers: those that read existing input (sandbox.h), and
// those that are fed (fed_worker.h).
namespace heapattach {

// A child of ours that is killed and reaped, whatever happens.
class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Worker(pid_t pid) : pid_(pid) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Its exit status, if it has ended by the deadline.
  std::optional<int> end_by(Clock::time_point deadline);

 private:
  std::optional<int> wait_for(int flags);

  pid_t pid_;  // 0 once reaped
};

// Forks a worker that does `work` without rights, writes to `output` and exits. It first writes a
// byte that greeting_note() reads.
Result<pid_t> fork_worker(const std::function<void(SandboxOutput&)>& work,
                          const SandboxLimits& limits,
                          int output,
                          bool may_start_threads);

// The protections that are unavailable here, according to the first byte from a worker; empty if
// none.
[[nodiscard]] std::string_view greeting_note(std::byte greeting);

// An error unless this is the exit status of a worker that finished its work.
Result<void> judge_worker(int status);

// True once there is something to read. False if that may come later. Timeout after the deadline.
Result<bool> wait_for_worker(const Fd& pipe,
                             const SandboxLimits& limits,
                             Worker::Clock::time_point deadline);

Error too_long(const SandboxLimits& limits);

}  // namespace heapattach
