#include "attach/sandbox.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/confined.h"
#include "attach/fd.h"
#include "attach/guardian.h"
#include "attach/interrupt.h"
#include "attach/sandbox_walls.h"

namespace heapattach {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPipeBytes = 1 << 20;
constexpr int kOutOfMemory = 101;
constexpr int kThrew = 102;
constexpr int kNoReader = 103;
// The first byte from the child.
constexpr std::byte kWithFilter{1};
constexpr std::byte kWithoutFilter{2};

// A child of ours that is killed and reaped, whatever happens.
class Worker {
 public:
  explicit Worker(pid_t pid) : pid_(pid) {}
  ~Worker() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    wait_for(0);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Its exit status, if it has ended by the deadline.
  std::optional<int> end_by(Clock::time_point deadline) {
    while (pid_ > 0) {
      if (const auto status = wait_for(WNOHANG)) return status;
      if (Clock::now() >= deadline) break;
      poll(nullptr, 0, 1);
    }
    return std::nullopt;
  }

 private:
  std::optional<int> wait_for(int flags) {
    int status = 0;
    pid_t ended = 0;
    do {
      ended = waitpid(pid_, &status, flags);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) return std::nullopt;
    pid_ = 0;
    return ended < 0 ? 0 : status;  // a process that ignores SIGCHLD does not learn how it ended
  }

  pid_t pid_;  // 0 once reaped
};

bool is_worker = false;

[[noreturn]] void be_worker(const std::function<void(SandboxOutput&)>& work,
                            const SandboxLimits& limits,
                            int output,
                            pid_t parent) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool has_filter = put_up_walls(limits, output, parent);
  is_worker = true;
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

Result<void> judge(int status) {
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

// Several files in a row may each take all the time they get; something must be left for the rest.
std::chrono::milliseconds share_of_time() {
  const auto deadline = guarded_deadline();
  if (deadline == Clock::time_point::max()) return std::chrono::milliseconds::max();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(left / 3, std::chrono::milliseconds(1));
}

Error too_long(const SandboxLimits& limits) {
  return {ErrorKind::Timeout,
          fmt::format("the worker was killed after {} ms", limits.time.count())};
}

// True once there is something to read. False if that may come later.
Result<bool> wait_to_read(const Fd& pipe, const SandboxLimits& limits, Clock::time_point deadline) {
  HA_TRY(check_interrupt());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (left <= 0) return too_long(limits);
  pollfd ready{pipe.get(), POLLIN, 0};
  const int polled = poll(&ready, 1, static_cast<int>(std::min<long long>(left, 1000)));
  const int os_errno = errno;
  if (polled < 0 && os_errno != EINTR) return os_error("poll", os_errno);
  return polled > 0;
}

// Everything from the pipe until its other end is closed.
Result<std::vector<std::byte>> drain(const Fd& pipe,
                                     const SandboxLimits& limits,
                                     Clock::time_point deadline) {
  std::vector<std::byte> bytes;
  std::vector<std::byte> piece(kPipeBytes);
  while (true) {
    if (!HA_TRY(wait_to_read(pipe, limits, deadline))) continue;
    const ssize_t count = ::read(pipe.get(), piece.data(), piece.size());
    const int os_errno = errno;
    if (count == 0) return bytes;
    if (count < 0 && os_errno == EINTR) continue;
    if (count < 0) return os_error("reading from the worker", os_errno);
    if (bytes.size() + static_cast<std::size_t>(count) > limits.output_bytes + 1) {
      return Error{ErrorKind::Malformed,
                   fmt::format("the worker wrote more than {} bytes", limits.output_bytes)};
    }
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + count);
  }
}

}  // namespace

bool has_no_rights() noexcept {
  return is_worker || is_confined();
}

void pretend_to_have_no_rights(bool pretend) noexcept {
  is_worker = pretend;
}

void SandboxOutput::write(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) _exit(kNoReader);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

Result<SandboxResult> run_sandboxed(const std::function<void(SandboxOutput&)>& work,
                                    const SandboxLimits& wanted) {
  HA_TRY(check_guarded_time("starting a worker"));
  SandboxLimits limits = wanted;
  limits.time = std::min(limits.time, share_of_time());
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return os_error("pipe2", errno);
  const Fd from_worker(ends[0]);
  Fd to_parent(ends[1]);
  fcntl(from_worker.get(), F_SETPIPE_SZ, kPipeBytes);
  const auto deadline = Clock::now() + limits.time;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return os_error("fork", errno);
  if (pid == 0) be_worker(work, limits, to_parent.get(), parent);
  Worker worker(pid);
  to_parent.reset();
  std::vector<std::byte> bytes = HA_TRY(drain(from_worker, limits, deadline));
  const auto status = worker.end_by(deadline);
  if (!status) return too_long(limits);
  HA_TRY(judge(*status));
  if (bytes.empty()) return Error{ErrorKind::Malformed, "the worker returned nothing"};
  SandboxResult result;
  if (bytes.front() != kWithFilter) {
    result.notes.emplace_back(
        "no system call filter could be installed; the rest of the sandbox is in place");
  }
  bytes.erase(bytes.begin());
  result.output = std::move(bytes);
  return result;
}

}  // namespace heapattach
