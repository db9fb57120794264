// With PTRACE_O_TRACEEXIT, every thread stops in do_exit(), before it gives up its memory
// (kernel/exit.c). exit_group() and fatal signals first kill all other threads, so those come to
// the same stop by themselves; the process has stopped when all have. Four things look alike at
// first:
//
//     a thread that ends alone              its last call is exit
//     a thread of a process that exits      some thread's last call is exit_group, or all have the
//                                           number of a signal
//     a thread that a seccomp filter kills  it has the number of SIGSYS, and the others run on
//     a thread that gives way to execve()   some other thread is blocked in that call
//
// Rejected: to stop at every system call, which makes a program several times slower; a seccomp
// filter for exit_group, which would outlive us in the program's children.

#include "attach/stop/exit_stop.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/arch/system_calls.h"
#include "attach/arch/thread_registers.h"
#include "attach/arch/vector_registers.h"
#include "attach/base/back_off.h"
#include "attach/base/guardian.h"
#include "attach/base/interrupt.h"
#include "attach/base/ptrace_word.h"
#include "attach/process/process.h"
#include "attach/process/start_program.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

// Threads that the kernel does not let go may never stop.
constexpr std::chrono::seconds kPatience{5};

void resume(pid_t tid, int signal = 0) {
  ptrace(PTRACE_CONT, tid, nullptr, ptrace_word(static_cast<unsigned>(signal)));
}

// A signal for the whole process that stops it, and not a report of one thread.
bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool is_single(const EndingThreads::End& end) {
  return end.system_call == SYS_exit && !WIFSIGNALED(end.status);
}

Result<void> check_ending_signals() {
  if (interrupted_by() == SIGINT) {
    accept_interrupt();
    need_time(std::chrono::hours(24 * 365));  // the program may take its time to end
  }
  return check_interrupt();
}

}  // namespace

void EndingThreads::become(pid_t pid) {
  threads_.clear();
  add(pid);
}

std::vector<pid_t> EndingThreads::running() const {
  std::vector<pid_t> tids;
  for (const auto& [tid, end] : threads_) {
    if (!end) tids.push_back(tid);
  }
  return tids;
}

std::vector<pid_t> EndingThreads::stopped() const {
  std::vector<pid_t> tids;
  for (const auto& [tid, end] : threads_) {
    if (end) tids.push_back(tid);
  }
  return tids;
}

bool EndingThreads::is_process_ending() const {
  const auto ends_all = [](const auto& thread) {
    const std::optional<End>& end = thread.second;
    return end && (end->system_call == SYS_exit_group || WIFSIGNALED(end->status));
  };
  return std::any_of(threads_.begin(), threads_.end(), ends_all) || running().empty();
}

std::vector<pid_t> EndingThreads::take_single_ends() {
  std::vector<pid_t> tids;
  if (is_process_ending()) return tids;
  for (const auto& [tid, end] : threads_) {
    if (end && is_single(*end)) tids.push_back(tid);
  }
  for (const pid_t tid : tids) threads_.erase(tid);
  return tids;
}

std::vector<pid_t> EndingThreads::take_filtered_ends(
    const std::map<pid_t, std::uint64_t>& pending) {
  constexpr std::uint64_t kKill = std::uint64_t{1} << (SIGKILL - 1);
  std::vector<pid_t> tids;
  for (const auto& [tid, end] : threads_) {
    if (!end) {
      // complete_signal() and do_group_exit() give it to each thread (kernel/signal.c, exit.c).
      const auto signals = pending.find(tid);
      if (signals != pending.end() && (signals->second & kKill) != 0) return {};
      continue;
    }
    if (WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGSYS) {
      tids.push_back(tid);
    } else if (!is_single(*end)) {
      return {};  // the process ends for another reason
    }
  }
  if (tids.size() == threads_.size()) return {};
  for (const pid_t tid : tids) threads_.erase(tid);
  return tids;
}

std::vector<pid_t> EndingThreads::take_all_ends() {
  std::vector<pid_t> tids = stopped();
  for (const pid_t tid : tids) threads_.erase(tid);
  return tids;
}

Result<ExitStop> ExitStop::start(const std::vector<std::string>& command) {
  constexpr std::uintptr_t kEvents = PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
  const pid_t pid = HA_TRY(start_program(command, [](pid_t child) {
    return checked("PTRACE_SEIZE", ptrace(PTRACE_SEIZE, child, nullptr, ptrace_word(kEvents)));
  }));
  return ExitStop(pid);
}

ExitStop::ExitStop(ExitStop&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      status_(other.status_),
      threads_(std::exchange(other.threads_, {})),
      lost_(std::move(other.lost_)),
      held_(std::move(other.held_)) {}

Result<void> ExitStop::wait() {
  std::optional<Clock::time_point> until;  // how long to wait for the rest of its threads
  int idle = 0;
  for (;;) {
    if (HA_TRY(take_next_event())) {
      idle = 0;
      continue;
    }
    let_go(threads_.take_single_ends(), false);
    if (!threads_.is_process_ending() && is_replaced()) let_go(threads_.take_all_ends(), true);
    if (threads_.is_process_ending() && may_look(until)) return look();
    back_off(++idle, {.yields = 20, .longest_nanoseconds = 1'000'000});
  }
}

// Returns whether another event may follow at once. Waits for one if no thread has stopped yet,
// because looking at the other threads is useless until then.
Result<bool> ExitStop::take_next_event() {
  const bool is_quiet = threads_.stopped().empty();
  int status = 0;
  const pid_t got = waitpid(-1, &status, __WALL | (is_quiet ? 0 : WNOHANG));
  if (got < 0 && errno != EINTR) status_ = status_.value_or(0);
  HA_TRY(check_ending_signals());
  if (got > 0) take_event(got, status);
  if (status_) {
    return Error{ErrorKind::Gone,
                 fmt::format("the program {} before it could be examined", describe_end(*status_))};
  }
  return got > 0 || is_quiet;
}

// Whether all threads have stopped, or the time to wait for the others is over.
bool ExitStop::may_look(std::optional<Clock::time_point>& until) {
  if (!until) until = Clock::now() + kPatience;
  if (is_complete()) return true;
  if (Clock::now() < *until) return false;
  const std::vector<pid_t> filtered = threads_.take_filtered_ends(pending_signals());
  if (filtered.empty()) return true;
  let_go(filtered, false);
  until.reset();
  return false;
}

void ExitStop::take_event(pid_t tid, int status) {
  // A process that was made by clone() is traced as well, but not ours to look at.
  const bool is_ours =
      threads_.knows(tid) || access(fmt::format("/proc/{}/task/{}", pid_, tid).c_str(), F_OK) == 0;
  if (WIFSTOPPED(status) && !is_ours) {
    ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
    return;
  }
  if (WIFSTOPPED(status)) return take_stop(tid, status);
  threads_.remove(tid);
  if (tid == pid_) status_ = status;
}

void ExitStop::take_stop(pid_t tid, int status) {
  const int signal = WSTOPSIG(status);
  switch (status >> 16) {
    case 0: return resume(tid, signal);
    case PTRACE_EVENT_EXIT: {
      unsigned long message = 0;
      ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message);
      const auto raw = read_registers(tid);
      const long call = raw ? call_number(*raw).value_or(-1) : 0;
      threads_.stop(tid, {static_cast<std::uint64_t>(call), static_cast<int>(message)});
      return;
    }
    case PTRACE_EVENT_EXEC:
      threads_.become(pid_);
      lost_.clear();
      return resume(tid);
    case PTRACE_EVENT_STOP:
      if (is_stop_signal(signal)) {
        ptrace(PTRACE_LISTEN, tid, nullptr, nullptr);
        return;
      }
      break;
    default: break;
  }
  threads_.add(tid);
  resume(tid);
}

void ExitStop::let_go(const std::vector<pid_t>& tids, bool is_lost) {
  for (const pid_t tid : tids) {
    resume(tid);
    if (is_lost) lost_.push_back(tid);
  }
}

// Whether a thread that still runs is in execve() and waits for the others to end.
bool ExitStop::is_replaced() const {
  const auto process = Process::open(pid_);
  if (!process) return false;
  const std::vector<pid_t> running = threads_.running();
  return std::any_of(running.begin(), running.end(), [&](pid_t tid) {
    const auto call = process->read_file(fmt::format("task/{}/syscall", tid));
    return call && (call->starts_with(fmt::format("{} ", SYS_execve)) ||
                    call->starts_with(fmt::format("{} ", SYS_execveat)));
  });
}

// Looks at the threads that still run.
std::map<pid_t, std::uint64_t> ExitStop::pending_signals() const {
  std::map<pid_t, std::uint64_t> pending;
  const auto process = Process::open(pid_);
  if (!process) return pending;
  for (const pid_t tid : threads_.running()) {
    if (const auto status = process->thread_status(tid)) pending[tid] = status->pending_signals;
  }
  return pending;
}

// Whether all threads have stopped, including threads that have not reported yet.
bool ExitStop::is_complete() const {
  if (!threads_.running().empty()) return false;
  const auto process = Process::open(pid_);
  if (!process) return true;
  const auto listing = process->list_threads();
  if (!listing || !listing->is_whole) return false;
  return std::all_of(listing->tids.begin(), listing->tids.end(), [&](pid_t tid) {
    if (threads_.knows(tid)) return true;
    const auto state = process->thread_state(tid);
    return !state || state->is_exiting();
  });
}

Result<void> ExitStop::look() {
  const Process process = HA_TRY(Process::open(pid_));
  const auto add = [&](pid_t tid) {
    FrozenThread thread;
    thread.tid = tid;
    thread.state = 'R';
    if (const auto state = process.thread_state(tid)) thread.name = state->name;
    if (const auto raw = read_registers(tid)) {
      thread.registers = registers_of(*raw);
      thread.vector_registers = read_vector_registers(tid);
    }
    held_.push_back(std::move(thread));
  };
  for (const pid_t tid : threads_.stopped()) add(tid);
  for (const pid_t tid : threads_.running()) add(tid);
  for (const pid_t tid : lost_) add(tid);
  return {};
}

std::string ExitStop::finish() {
  for (const pid_t tid : threads_.take_all_ends()) ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
  while (!status_) {
    int status = 0;
    const pid_t got = waitpid(-1, &status, __WALL);
    if (got < 0 && (errno != EINTR || !check_ending_signals())) break;
    if (got <= 0) continue;
    if (WIFSTOPPED(status)) {
      ptrace(PTRACE_DETACH, got, nullptr, nullptr);
    } else if (got == pid_) {
      status_ = status;
    }
  }
  return status_ ? describe_end(*status_) : "ended";
}

// The kernel releases threads that run when the thread that traces them ends.
void ExitStop::release() noexcept {
  if (pid_ == 0) return;
  for (const pid_t tid : threads_.stopped()) ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
}

}  // namespace heapattach
