#include "attach/sandbox/sandbox_worker.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/back_off.h"
#include "attach/base/interrupt.h"
#include "attach/sandbox/sandbox_walls.h"

namespace heapattach {
namespace {

constexpr int kOutOfMemory = 101;
constexpr int kThrew = 102;
// The first byte from the child.
constexpr std::byte kWithFilter{1};
constexpr std::byte kWithoutFilter{2};

[[noreturn]] void be_worker(const std::function<void(SandboxOutput&)>& work,
                            const SandboxLimits& limits,
                            int output,
                            WallsFor walls) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool has_filter = put_up_walls(limits, output, walls);
  pretend_to_have_no_rights();  // here it is true
  int status = 0;
  try {
    SandboxOutput out(output);
    const std::byte greeting = has_filter ? kWithFilter : kWithoutFilter;
    out.write({&greeting, 1});
    work(out);
  } catch (const std::bad_alloc&) {
    status = kOutOfMemory;
  } catch (...) {
    status = kThrew;
  }
  _exit(status);
}

Error killed_by(int signal) {
  return {ErrorKind::Malformed, fmt::format("the worker was killed by signal {}", signal)};
}

}  // namespace

Worker::~Worker() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  wait_for(0);
}

std::optional<int> Worker::end_by(Clock::time_point deadline) {
  // It has usually written everything, and ends at once.
  constexpr BackOff kSoon{.yields = 2, .longest_nanoseconds = 1'000'000};
  for (int round = 0; pid_ > 0; ++round) {
    if (const auto status = wait_for(WNOHANG)) return status;
    if (Clock::now() >= deadline) break;
    back_off(round, kSoon);
  }
  return std::nullopt;
}

std::optional<int> Worker::wait_for(int flags) {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(pid_, &status, flags);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  pid_ = 0;
  return ended < 0 ? 0 : status;  // a process that ignores SIGCHLD does not learn how it ended
}

Result<pid_t> fork_worker(const std::function<void(SandboxOutput&)>& work,
                          const SandboxLimits& limits,
                          int output,
                          bool may_start_threads) {
  const WallsFor walls{getpid(), may_start_threads};
  const pid_t pid = fork();
  if (pid < 0) return os_error("fork", errno);
  if (pid == 0) be_worker(work, limits, output, walls);
  return pid;
}

std::string_view greeting_note(std::byte greeting) {
  if (greeting == kWithFilter) return {};
  return "no system call filter could be installed; the rest of the sandbox is in place";
}

Result<void> judge_worker(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGSYS) {
      return Error{ErrorKind::Malformed, "the worker made a system call that it should not need"};
    }
    if (signal == SIGXCPU) return Error{ErrorKind::Timeout, "the worker took too long"};
    return killed_by(signal);
  }
  switch (WEXITSTATUS(status)) {
    case 0: return {};
    case kOutOfMemory: return Error{ErrorKind::Malformed, "the worker ran out of memory"};
    case kThrew: return Error{ErrorKind::Malformed, "the worker failed with an exception"};
    default:
      return Error{ErrorKind::Malformed,
                   fmt::format("the worker ended with status {}", WEXITSTATUS(status))};
  }
}

Error too_long(const SandboxLimits& limits) {
  return {ErrorKind::Timeout,
          fmt::format("the worker was killed after {} ms", limits.time.count())};
}

Result<bool> wait_for_worker(const Fd& pipe,
                             const SandboxLimits& limits,
                             Worker::Clock::time_point deadline) {
  HA_TRY(check_interrupt());
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - Worker::Clock::now()).count();
  if (left <= 0) return too_long(limits);
  pollfd ready{pipe.get(), POLLIN, 0};
  const int polled = poll(&ready, 1, static_cast<int>(std::min<long long>(left, 1000)));
  const int os_errno = errno;
  if (polled < 0 && os_errno != EINTR) return os_error("poll", os_errno);
  return polled > 0;
}

}  // namespace heapattach
