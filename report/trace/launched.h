#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "attach/base/fd.h"
#include "attach/base/result.h"

namespace heapattach::trace {

// A program that was started to be traced: our child, in our terminal. It runs on when we end.
class Launched {
 public:
  // Gone, with the reason, if it cannot be started. Call it while this process has one thread.
  static Result<Launched> start(const std::vector<std::string>& command);
  ~Launched();
  Launched(Launched&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        keeper_(std::exchange(other.keeper_, 0)),
        lifeline_(std::move(other.lifeline_)),
        ended_(std::move(other.ended_)) {}
  Launched& operator=(Launched&&) = delete;
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Lets it run in short slices, calls `is_ready` while it is stopped, and returns with it stopped
  // once that succeeds. Otherwise returns with it running: Gone if it has ended, or the last error
  // of `is_ready` after `patience`.
  Result<void> run_until(const std::function<Result<void>()>& is_ready,
                         std::chrono::milliseconds patience);
  void run_on();

  // How it ended, such as "exited with status 1". Nothing while it runs.
  std::optional<std::string> end();

 private:
  Launched(pid_t pid, pid_t keeper, Fd lifeline)
      : pid_(pid), keeper_(keeper), lifeline_(std::move(lifeline)) {}
  [[nodiscard]] Error ended_early();
  Result<void> stop();
  void note_end(pid_t got, int status);

  pid_t pid_;
  pid_t keeper_;  // continues it if we die while it is stopped
  Fd lifeline_;   // the keeper waits for its end
  std::optional<std::string> ended_;
};

}  // namespace heapattach::trace
