#include "inject/own_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/arch/system_calls.h"
#include "attach/arch/thread_registers.h"
#include "attach/base/back_off.h"
#include "attach/base/interrupt.h"
#include "attach/base/ptrace_word.h"
#include "attach/process/start_program.h"
#include "inject/arch/stub.h"
#include "inject/call_filter.h"
#include "inject/hold_clone.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;
using Kind = OwnStop::Kind;

// PTRACE_O_EXITKILL is right for a clone, because only we use it. Each new thread inherits these
// options, so no thread outlives us. The options for clone, fork and vfork are all needed: the
// event that the kernel reports depends on the new thread's exit signal and on CLONE_VFORK, and
// without it the thread would not be traced.
constexpr std::uintptr_t kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD |
                                    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                    PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP;
constexpr int kSystemCall = SIGTRAP | 0x80;
constexpr std::chrono::seconds kPatience{15};
// We wait this long for all threads to stop. A thread in uninterruptible sleep does not stop.
constexpr std::chrono::seconds kStopPatience{1};
// The threads are listed again after this many rounds of waiting, each of up to 0.2 ms.
constexpr int kRoundsPerListing = 250;
constexpr BackOff kBackOff{.yields = 50, .longest_nanoseconds = 200'000};

// Ignores ESRCH: the thread has been killed, and waiting for it reports that.
Result<void> unless_killed(Result<void> done) {
  if (!done && done.error().os_errno == ESRCH) return {};
  return done;
}

Result<void> resume(pid_t thread, int signal, __ptrace_request how = PTRACE_CONT) {
  return checked("letting the clone run",
                 ptrace(how, thread, nullptr, ptrace_word(static_cast<unsigned>(signal))));
}

std::optional<int> status_of(pid_t thread) {
  int status = 0;
  const pid_t got = waitpid(thread, &status, __WALL | WNOHANG);
  if (got != thread) return std::nullopt;
  return status;
}

// Turns the first thread's exit into exit_group, so that all threads end with it. If it ended
// alone, it would stay an unreported zombie while the other threads ran on. seccomp(2) lets a
// tracer change the call.
void exit_all(pid_t thread) {
  auto now = OwnProcess::registers(thread);
  if (!now) return;
  replace_call(*now, SYS_exit_group);
  static_cast<void>(write_registers(thread, *now));
}

Result<int> wait_for(pid_t thread, Clock::time_point deadline) {
  for (int round = 0; Clock::now() < deadline; ++round) {
    if (const auto status = status_of(thread)) return *status;
    back_off(round, kBackOff);
  }
  return Error{ErrorKind::Timeout, fmt::format("the clone {} did not stop", thread)};
}

// Returns an error that is not Gone, because the target has not ended.
Error has_died(int status) {
  return {ErrorKind::Impossible,
          fmt::format("the clone {}, by another process or for lack of memory; the target keeps "
                      "running",
                      describe_end(status))};
}

// Returns how the clone ended, if a step failed for that reason, and otherwise `error`. The clone's
// first thread was stopped. As soon as a stopped thread is killed, even before it is dead, its
// tracer can no longer read its registers.
Error explain_failure(Error error, pid_t clone) {
  if (OwnProcess::registers(clone)) return error;
  const auto status = wait_for(clone, Clock::now() + kPatience);
  return status && !WIFSTOPPED(*status) ? has_died(*status) : error;
}

OwnStop stopped(Kind kind, pid_t thread) {
  OwnStop stop;
  stop.kind = kind;
  stop.thread = thread;
  return stop;
}

OwnStop ended(int status) {
  OwnStop stop = stopped(WIFEXITED(status) ? Kind::Exited : Kind::Killed, 0);
  (WIFEXITED(status) ? stop.status : stop.signal) =
      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  return stop;
}

OwnStop signal_stop(pid_t thread, int signal) {
  OwnStop stop = stopped(Kind::Signal, thread);
  stop.signal = signal;
  siginfo_t about{};
  if (ptrace(PTRACE_GETSIGINFO, thread, nullptr, &about) != 0) return stop;
  // SI_USER and similar codes are 0 or below; SI_KERNEL is a fault without an address.
  stop.is_fault = about.si_code > 0;
  if (stop.is_fault && about.si_code != SI_KERNEL && (signal == SIGSEGV || signal == SIGBUS)) {
    stop.fault = {reinterpret_cast<std::uintptr_t>(about.si_addr)};
  }
  return stop;
}

}  // namespace

OwnProcess::OwnProcess(const Process& clone, Fd mem, Fd mem_for_writing)
    : clone_(clone),
      memory_(clone, std::move(mem), LiveMemory::By::MemFile),
      mem_(std::move(mem_for_writing)),
      threads_{clone.pid()} {}

Result<std::unique_ptr<OwnProcess>> OwnProcess::take(const Process& clone) {
  auto reading = LiveMemory::open_mem(clone);
  if (!reading) return explain_failure(std::move(reading).error(), clone.pid());
  auto writing = clone.open_file("mem", O_RDWR);
  if (!writing) return explain_failure(std::move(writing).error(), clone.pid());
  std::unique_ptr<OwnProcess> own(new OwnProcess(clone, std::move(*reading), std::move(*writing)));
  if (auto begun = own->begin(); !begun) return own->explain(std::move(begun).error());
  return own;
}

Result<void> OwnProcess::begin() {
  found_ = HA_TRY(registers(clone_.pid()));
  set_instruction_pointer(found_, HA_TRY(place_for_calls(found_, memory_)));
  return checked("PTRACE_SETOPTIONS",
                 ptrace(PTRACE_SETOPTIONS, clone_.pid(), nullptr, ptrace_word(kOptions)));
}

OwnProcess::~OwnProcess() {
  static_cast<void>(kill_and_wait(clone_));
}

Result<RawRegisters> OwnProcess::registers(pid_t thread) {
  return read_registers(thread);
}

Result<void> OwnProcess::write(RemoteAddr at, std::span<const std::byte> bytes) const {
  const auto put = pwrite(mem_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at.value));
  const int failure = errno;
  if (put == static_cast<ssize_t>(bytes.size())) return {};
  return os_error(fmt::format("writing to the clone at {}", at), failure);
}

Result<std::int64_t> OwnProcess::system_call(long number,
                                             std::span<const std::uint64_t> arguments) {
  RawRegisters in = found_;
  set_call(in, number, arguments);
  call_again(in, number);
  const pid_t pid = clone_.pid();
  HA_TRY(write_registers(pid, in));
  const auto deadline = Clock::now() + kPatience;
  for (int stops = 0; stops < 2;) {  // at the call, and after it
    HA_TRY(resume(pid, 0, PTRACE_SYSCALL));
    const int status = HA_TRY(wait_for(pid, deadline));
    if (!WIFSTOPPED(status)) {
      end_ = status;
      return Error{ErrorKind::Gone, "the clone was killed"};
    }
    if (status >> 16 == 0 && WSTOPSIG(status) == kSystemCall) ++stops;
  }
  return call_result(HA_TRY(registers(pid)));
}

Error OwnProcess::explain(Error error) const {
  return end_ ? has_died(*end_) : explain_failure(std::move(error), clone_.pid());
}

Result<OwnStop> OwnProcess::run(const RawRegisters& from, Clock::time_point deadline) {
  std::uint64_t none = 0;
  HA_TRY(unless_killed(write_registers(clone_.pid(), from)));
  HA_TRY(unless_killed(checked("PTRACE_SETSIGMASK", ptrace(PTRACE_SETSIGMASK, clone_.pid(),
                                                           ptrace_word(sizeof none), &none))));
  return go_on(clone_.pid(), 0, deadline);
}

Result<OwnStop> OwnProcess::go_on(pid_t thread, int signal, Clock::time_point deadline) {
  HA_TRY(unless_killed(resume(thread, signal)));
  return wait_for_news(deadline);
}

Result<OwnStop> OwnProcess::wait_for_news(Clock::time_point deadline) {
  for (int round = 0; Clock::now() < deadline; ++round) {
    HA_TRY(check_interrupt());
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const pid_t thread = threads_[i];
      const auto status = status_of(thread);
      if (!status) continue;
      round = 0;
      if (auto stop = look_at(thread, *status)) return *stop;
    }
    if (round % kRoundsPerListing == kRoundsPerListing - 1) find_threads();
    back_off(round, kBackOff);
  }
  stop_all();
  return stopped(Kind::TimedOut, clone_.pid());
}

// Returns the event of one of the clone's threads if it needs a decision. Otherwise lets the thread
// continue.
std::optional<OwnStop> OwnProcess::look_at(pid_t thread, int status) {
  if (!WIFSTOPPED(status)) {
    std::erase(threads_, thread);
    if (thread != clone_.pid()) return std::nullopt;
    return ended(status);
  }
  switch (status >> 16) {
    case 0:
      if (WSTOPSIG(status) != kSystemCall) return signal_stop(thread, WSTOPSIG(status));
      break;
    case PTRACE_EVENT_SECCOMP:
      if (auto stop = look_at_filtered(thread)) return stop;
      break;
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK: {
      unsigned long born = 0;  // a thread: the filter allows nothing else
      ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &born);
      if (born != 0) add_thread(static_cast<pid_t>(born));
      break;
    }
    case PTRACE_EVENT_EXEC: return stopped(Kind::TriesProgram, thread);
    default: break;
  }
  static_cast<void>(resume(thread, 0));
  return std::nullopt;
}

void OwnProcess::judge_by(CallRules rules) {
  rules_ = std::move(rules);
  files_.emplace(clone_, rules_.self, rules_.has_landlock);
}

bool OwnProcess::may_call(const RawRegisters& at) const {
  return files_ && is_allowed(rules_, at, {memory_, *files_, threads_.size() > 1});
}

// Makes the call's futex private if another process may use it.
bool OwnProcess::keep_futex(pid_t thread, const RawRegisters& at) const {
  const auto map = clone_.maps();
  if (!map) return false;
  if (!may_be_shared_futex(at, *map)) return true;
  RawRegisters own = at;
  set_call_argument(own, 1, call_argument(at, 1) | FUTEX_PRIVATE_FLAG);
  return write_registers(thread, own).has_value();
}

std::optional<OwnStop> OwnProcess::look_at_filtered(pid_t thread) const {
  unsigned long what = 0;
  ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &what);
  const auto now = registers(thread);
  if (!now) return std::nullopt;
  if (what == kEndsThread) {
    if (thread == clone_.pid()) exit_all(thread);
    return std::nullopt;
  }
  if (what == kSharedFutex && keep_futex(thread, *now)) return std::nullopt;
  if (what == kTriesCall && may_call(*now)) return std::nullopt;
  // Skip the call, and set its result (seccomp(2), SECCOMP_RET_TRACE).
  RawRegisters refused = *now;
  refuse_call(refused, -EPERM);
  static_cast<void>(write_registers(thread, refused));
  OwnStop stop = stopped(Kind::TriesCall, thread);
  if (what == kTriesProgram) stop.kind = Kind::TriesProgram;
  if (what == kTriesProcess) stop.kind = Kind::TriesProcess;
  stop.call = static_cast<int>(call_number(*now).value_or(-1));
  return stop;
}

void OwnProcess::add_thread(pid_t thread) {
  if (std::find(threads_.begin(), threads_.end(), thread) == threads_.end()) {
    threads_.push_back(thread);
  }
}

// Finds threads whose birth was not reported because the thread that started them was killed. Such
// a thread is traced nevertheless, and must be reaped before the kernel reports the end of the
// first thread.
void OwnProcess::find_threads() {
  const auto listing = clone_.list_threads();
  if (!listing) return;
  for (const pid_t thread : listing->tids) add_thread(thread);
}

void OwnProcess::stop_all() {
  find_threads();
  const std::vector<pid_t> threads = threads_;
  for (const pid_t thread : threads) ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  const auto deadline = Clock::now() + kStopPatience;
  for (const pid_t thread : threads) {
    const auto state = clone_.thread_state(thread);
    if (!state || (state->is_exiting() && thread == clone_.pid())) continue;
    const auto status = wait_for(thread, deadline);
    if (status && !WIFSTOPPED(*status)) std::erase(threads_, thread);
  }
}

}  // namespace heapattach
