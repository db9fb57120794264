#include "inject/hold_clone.h"

#include <cerrno>
#include <chrono>
#include <csignal>

#include <fmt/format.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attach/arch/system_calls.h"
#include "attach/arch/thread_registers.h"
#include "attach/base/ptrace_word.h"
#include "attach/stop/arch/interrupted_calls.h"
#include "inject/watch.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{3};
// The kernel takes long to free the page tables of a large heap.
constexpr std::chrono::seconds kDeathPatience{30};

// Whether a stopped clone has reached its sleep. It no longer shares the target's files then.
bool is_asleep(pid_t pid) {
  const auto at = read_registers(pid);
  return at && is_interrupted_in(*at, SYS_nanosleep);
}

Error ended_early(pid_t pid) {
  return {ErrorKind::Gone, fmt::format("the clone {} ended before it was seized", pid)};
}

Result<void> wait_for_stop(pid_t pid, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, __WALL | WNOHANG);
    // The clone blocks every signal that can be blocked, so the kernel has forced this SIGSEGV on
    // it.
    const bool is_crash =
        got > 0 && WIFSTOPPED(status) && status >> 16 == 0 && WSTOPSIG(status) == SIGSEGV;
    if (got > 0 && WIFSTOPPED(status) && !is_crash) return {};
    if (got > 0 || (got < 0 && errno != EINTR)) return ended_early(pid);
    sched_yield();
  }
  return Error{ErrorKind::Timeout, fmt::format("the clone {} did not stop", pid)};
}

// Reaps all ended threads except the first thread, which the kernel reports only after all others.
// A thread is listed until it is reaped, even if its birth was never reported to us.
void reap_threads(const Process& clone) {
  const auto listing = clone.list_threads();
  if (!listing) return;
  for (const pid_t thread : listing->tids) {
    int status = 0;
    if (thread != clone.pid()) waitpid(thread, &status, __WALL | WNOHANG);
  }
}

}  // namespace

Result<void> hold_clone(const Process& clone) {
  const pid_t pid = clone.pid();
  if (ptrace(PTRACE_SEIZE, pid, nullptr, ptrace_word(PTRACE_O_EXITKILL)) != 0) {
    const int failure = errno;
    // An ended process and one that we may not trace give the same errno.
    if (!clone.is_alive()) return ended_early(pid);
    return os_error(fmt::format("seizing the clone {}", pid), failure);
  }
  const auto deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
    HA_TRY(wait_for_stop(pid, deadline));
    if (is_asleep(pid)) return {};
    ptrace(PTRACE_CONT, pid, nullptr, nullptr);
    sched_yield();
  }
  return Error{ErrorKind::Timeout, fmt::format("the clone {} did not reach its sleep", pid)};
}

bool kill_and_wait(const Process& clone) {
  kill_and_release(clone.pid());
  const auto deadline = Clock::now() + kDeathPatience;
  while (Clock::now() < deadline) {
    reap_threads(clone);
    int status = 0;
    const pid_t got = waitpid(clone.pid(), &status, __WALL | WNOHANG);
    if (got == clone.pid() && !WIFSTOPPED(status)) return true;
    if (got < 0 && errno == ECHILD) return !clone.is_alive();
    constexpr timespec kMoment{0, 100'000};
    nanosleep(&kMoment, nullptr);
  }
  return false;
}

}  // namespace heapattach
