#include "attach/stop/ptrace_tracer.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/arch/system_calls.h"
#include "attach/arch/thread_registers.h"
#include "attach/arch/vector_registers.h"
#include "attach/base/back_off.h"
#include "attach/base/fault_points.h"
#include "attach/base/ptrace_word.h"
#include "attach/process/blocked_call.h"
#include "attach/process/permission.h"
#include "attach/process/start_program.h"

namespace heapattach {

namespace {

long traced(FaultPoint point, __ptrace_request request, pid_t tid, void* address, void* data) {
  if (fault_at(point)) return -1;
  return ptrace(request, tid, address, data);
}

TraceEvent decode(int status) {
  using Kind = TraceEvent::Kind;
  if (!WIFSTOPPED(status)) return {.kind = Kind::Ended};
  const int signal = WSTOPSIG(status);
  switch (status >> 16) {
    case 0: return {.kind = Kind::Signal, .signal = signal};
    // SIGTRAP marks our interrupt or a new thread; any other signal is a stop of the whole process.
    case PTRACE_EVENT_STOP:
      return {.kind = Kind::Stopped, .signal = signal == SIGTRAP ? 0 : signal};
    case PTRACE_EVENT_CLONE: return {.kind = Kind::Cloned};
    case PTRACE_EVENT_EXEC: return {.kind = Kind::Executed};
    default: return {.kind = Kind::Passing};
  }
}

// Whether no signal is pending for the thread or, depending on the flag, for its process.
bool has_empty_queue(pid_t tid, std::uint32_t flags) {
  __ptrace_peeksiginfo_args which{.off = 0, .flags = flags, .nr = 1};
  siginfo_t first{};
  return traced(FaultPoint::PeekSignals, PTRACE_PEEKSIGINFO, tid, &which, &first) == 0;
}

}  // namespace

PtraceTracer::PtraceTracer(const Process& process, std::atomic<bool>& is_seizing) noexcept
    : process_(process), is_seizing_(is_seizing), own_tid_(gettid()), calls_(process) {}

Result<ThreadListing> PtraceTracer::threads() {
  return process_.list_threads();
}

Result<ThreadState> PtraceTracer::state(pid_t tid) {
  auto state = process_.thread_state(tid);
  if (state || (state.error().os_errno != ENOENT && state.error().os_errno != ESRCH)) return state;
  return Error{ErrorKind::Gone, fmt::format("thread {} exited", tid), ESRCH};
}

Result<void> PtraceTracer::seize(pid_t tid) {
  // The clone option catches a thread born between the seizing of its parent and the parent's stop.
  // The exec option shows when another program replaces the one that we attached to.
  constexpr std::uintptr_t kOptions = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
  // Another tracer may have let the thread go between the kernel's refusal and our look at the
  // reason, so a refusal counts only if it is repeated.
  for (bool is_first = true;; is_first = false) {
    is_seizing_.store(true, std::memory_order_relaxed);
    const long seized =
        traced(FaultPoint::Seize, PTRACE_SEIZE, tid, nullptr, ptrace_word(kOptions));
    const int failure = errno;
    is_seizing_.store(false, std::memory_order_relaxed);
    if (seized == 0) return {};
    if (failure != EPERM) return os_error("PTRACE_SEIZE", failure);
    auto explained = explain_refusal(tid);
    if (explained || explained.error().kind != ErrorKind::Denied || !is_first) return explained;
  }
}

// The kernel answers EPERM for "not permitted", for "already traced" and for "exiting".
Result<void> PtraceTracer::explain_refusal(pid_t tid) const {
  const auto status = process_.thread_status(tid);
  if (status && status->tracer == own_tid_) return {};
  const auto state = process_.thread_state(tid);
  if (!status || !state || state->is_exiting()) {
    return Error{ErrorKind::Gone, "it is exiting", ESRCH};
  }
  if (status->tracer != 0) return traced_by(status->tracer);
  return explain_denied(access_facts(process_)).context("PTRACE_SEIZE");
}

Result<void> PtraceTracer::interrupt(pid_t tid) {
  calls_.before_interrupt(tid);
  if (traced(FaultPoint::Interrupt, PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0) return {};
  return os_error("PTRACE_INTERRUPT", errno);
}

Result<std::optional<TraceEvent>> PtraceTracer::poll(pid_t tid) {
  int status = 0;
  // By number: the kernel then finds the thread at once; with -1 it would walk through all.
  const pid_t got = fault_at(FaultPoint::WaitThread) ? -1 : waitpid(tid, &status, __WALL | WNOHANG);
  const int failure = errno;
  if (got == 0 || (got < 0 && failure == EINTR)) return std::optional<TraceEvent>();
  // After execve by another thread, the number no longer exists.
  if (got < 0 && failure == ECHILD) return std::optional(TraceEvent{TraceEvent::Kind::Ended});
  if (got < 0) return os_error("waitpid", failure);
  if (!WIFSTOPPED(status)) note_program_end(tid, status);
  TraceEvent event = decode(status);
  if (event.kind == TraceEvent::Kind::Signal) calls_.after_signal(tid);
  if (event.kind == TraceEvent::Kind::Cloned) {
    unsigned long other = 0;
    if (traced(FaultPoint::GetEventMessage, PTRACE_GETEVENTMSG, tid, nullptr, &other) == 0) {
      event.other = static_cast<pid_t>(other);
    }
  }
  return std::optional(event);
}

void PtraceTracer::resume(pid_t tid, int signal) noexcept {
  traced(FaultPoint::Resume, PTRACE_CONT, tid, nullptr, ptrace_word(static_cast<unsigned>(signal)));
}

bool PtraceTracer::detach(pid_t tid, int signal) noexcept {
  return traced(FaultPoint::Detach, PTRACE_DETACH, tid, nullptr,
                ptrace_word(static_cast<unsigned>(signal))) == 0;
}

Result<RawRegisters> PtraceTracer::registers(pid_t tid) {
  if (fault_at(FaultPoint::GetRegisters)) return os_error("PTRACE_GETREGSET", errno);
  RawRegisters values = HA_TRY(read_registers(tid));
  calls_.add_to(tid, values);
  return values;
}

std::vector<std::uint64_t> PtraceTracer::vector_registers(pid_t tid) {
  return read_vector_registers(tid);
}

Result<void> PtraceTracer::set_registers(pid_t tid, const RawRegisters& values) {
  if (fault_at(FaultPoint::SetRegisters)) return os_error("PTRACE_SETREGSET", errno);
  return write_registers(tid, values);
}

bool PtraceTracer::is_after_syscall(pid_t tid, RemoteAddr at) {
  const auto wanted = call_instruction();
  errno = 0;
  const long found = traced(FaultPoint::PeekInstruction, PTRACE_PEEKTEXT, tid,
                            ptrace_word((at - wanted.size()).value), nullptr);
  return errno == 0 && std::memcmp(&found, wanted.data(), wanted.size()) == 0;
}

// A call such as epoll_pwait sets its own mask of blocked signals while it lasts. /proc shows that
// mask; PTRACE_GETSIGMASK returns the mask that the call will restore. A signal that either of them
// lets through counts: the program may use the call to wait for just that signal.
std::uint64_t PtraceTracer::deliverable_signals(pid_t tid) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  // Almost always nothing is pending, and this check is much cheaper than the text in /proc.
  if (has_empty_queue(tid, 0) && has_empty_queue(tid, PTRACE_PEEKSIGINFO_SHARED)) return 0;
  std::uint64_t mask = 0;
  if (traced(FaultPoint::GetSignalMask, PTRACE_GETSIGMASK, tid, ptrace_word(sizeof mask), &mask) !=
      0) {
    return kAll;
  }
  const auto status = process_.thread_status(tid);
  if (!status) return kAll;
  return status->pending_signals & ~(mask & status->blocked_signals);
}

std::optional<RemoteAddr> PtraceTracer::blocked_stack_pointer(pid_t tid) {
  const auto text = process_.read_file(fmt::format("task/{}/syscall", tid));
  if (!text) return std::nullopt;
  const auto call = parse_blocked_call(*text);
  if (!call) return std::nullopt;
  return call->stack_pointer;
}

std::chrono::steady_clock::time_point PtraceTracer::now() const {
  return std::chrono::steady_clock::now();
}

void PtraceTracer::back_off(int idle_rounds) {
  heapattach::back_off(idle_rounds, {.yields = 20, .longest_nanoseconds = 1'000'000});
}

}  // namespace heapattach
