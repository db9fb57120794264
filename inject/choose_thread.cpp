#include "inject/choose_thread.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "attach/arch/system_calls.h"
#include "attach/process/process_status.h"
#include "attach/stop/arch/interrupted_calls.h"
#include "attach/stop/rewind.h"
#include "inject/arch/stub.h"

namespace heapattach {

namespace {

// After this many threads with a harmful filter, the search for a better thread costs more than it
// gains.
constexpr std::size_t kMostLookedAt = 64;
constexpr std::uint64_t kSignalPwr = std::uint64_t{1} << 29;   // SIGPWR is 30
constexpr std::uint64_t kSignalXcpu = std::uint64_t{1} << 23;  // SIGXCPU is 24
// SIGILL, SIGABRT, SIGBUS, SIGFPE and SIGSEGV.
constexpr std::uint64_t kFaults = std::uint64_t{1} << 3 | std::uint64_t{1} << 5 |
                                  std::uint64_t{1} << 6 | std::uint64_t{1} << 7 |
                                  std::uint64_t{1} << 10;

Filters filters_of(RemoteControl& control,
                   const ProcessStatus& status,
                   pid_t tid,
                   FilterVerdicts& verdicts) {
  if (status.seccomp_mode == SECCOMP_MODE_DISABLED) return Filters::None;
  if (status.seccomp_mode == SECCOMP_MODE_STRICT) return Filters::MayHarm;
  // After so many harmful filters, another thread will hardly have a better one.
  if (verdicts.harmed_threads() >= kMostLookedAt) return Filters::MayHarm;
  const auto filters = control.filters(tid);
  return filters ? verdicts.judge(*filters) : Filters::Unknown;
}

bool is_in_call(const RawRegisters& registers) {
  return call_number(registers).has_value();
}

bool has_stack(const MemoryMap& map, RemoteAddr stack) {
  const Mapping* mapping = map.find(stack - kStackBytes);
  return mapping != nullptr && mapping->writable && stack <= mapping->range.end();
}

Result<Candidate> look_at(const BorrowFrom& from,
                          const FrozenThread& thread,
                          FilterVerdicts& verdicts) {
  RemoteControl& control = from.control;
  const pid_t tid = thread.tid;
  Candidate seen;
  seen.tid = tid;
  seen.registers = HA_TRY(control.registers(tid));
  if (thread.registers) recall_call(seen.registers, *thread.registers);
  seen.mask = HA_TRY(control.signal_mask(tid));
  const auto status = HA_TRY(from.process.thread_status(tid));
  seen.filters = filters_of(control, status, tid, verdicts);
  // If the kernel cannot report this, our call will reveal it without harm (injection.cpp).
  seen.is_dispatched = HA_TRY(control.call_dispatch(tid)) == CallDispatch::On;
  seen.has_stack = has_stack(from.map, stack_pointer(seen.registers));
  seen.has_wide_vectors = HA_TRY(control.has_wide_vectors(tid));
  // This also holds if the kernel has already moved the thread back to the call's instruction.
  seen.is_after_syscall =
      is_after_syscall(control.memory(), registers_of(seen.registers).instruction_pointer);
  const auto configuration = HA_TRY(control.rseq(tid));
  const auto sequence =
      rseq_state(configuration, instruction_pointer(seen.registers), control.memory());
  if (sequence) seen.sequence = *sequence;
  const RemoteAddr goal = seen.sequence && seen.sequence->is_inside
                              ? seen.sequence->abort
                              : instruction_pointer(seen.registers);
  const auto near = std::find_if(from.stubs.begin(), from.stubs.end(),
                                 [&](RemoteAddr stub) { return Stub::can_return(stub, goal); });
  if (near != from.stubs.end()) seen.stub = *near;
  return seen;
}

Borrowed borrow(const BorrowFrom& from, const Candidate& best) {
  Borrowed thread{.tid = best.tid,
                  .found = best.registers,
                  .way_back = {},
                  .mask = best.mask,
                  .stub = best.stub.value_or(RemoteAddr{})};
  // The kernel checks only where the thread is. While the thread is in the stub, the kernel does
  // not see that it has left a sequence unfinished, so the thread goes back to the sequence's abort
  // handler.
  if (best.sequence && best.sequence->is_inside) {
    set_instruction_pointer(thread.found, best.sequence->abort);
  }
  std::optional<RawRegisters> again;
  if (from.rewind && best.is_after_syscall && is_rewindable(best.registers)) {
    const auto status = from.process.thread_status(best.tid);
    const std::uint64_t deliverable = status ? status->pending_signals & ~best.mask : 1;
    again = rewound(best.registers, deliverable);
  }
  thread.way_back = way_back(thread.found, again);
  return thread;
}

Error no_thread(ErrorKind kind, std::size_t threads, std::string_view why) {
  const std::string none =
      threads == 1 ? "its only thread cannot" : fmt::format("none of its {} threads can", threads);
  return Error{kind, fmt::format("{} be borrowed for a system call ({})", none, why)}.advise(
      "--snapshot freeze");
}

}  // namespace

bool is_after_syscall(const MemoryReader& memory, RemoteAddr at) {
  const auto wanted = call_instruction();
  std::vector<std::byte> code(wanted.size());
  return memory.read(at - code.size(), code) && std::ranges::equal(code, wanted);
}

std::optional<std::string_view> objection_to(const Candidate& candidate) {
  const RawRegisters& at = candidate.registers;
  if (!runs_64_bit_code(at)) return "it runs 32-bit code";
  switch (candidate.filters) {
    case Filters::None:
    case Filters::Harmless: break;
    case Filters::MayHarm:
      return "its seccomp filter may kill it for a system call that heapattach makes";
    case Filters::Unknown: return kUnreadableFilter;
  }
  if (candidate.is_dispatched) return kDispatchedCalls;
  if (is_single_stepping(at)) return "it single-steps itself";
  if (!candidate.has_stack) return "no stack is mapped below its stack pointer";
  if (candidate.has_wide_vectors) {
    return "it computes with SVE or SME registers, which a system call does not preserve";
  }
  if (!candidate.stub) return "no padding after code is near enough for it to come back from";
  if (!candidate.sequence) return "its restartable sequence is invalid";
  const bool is_interrupted = call_state(at) != CallState::None;
  if (is_interrupted && !candidate.is_after_syscall) {
    return "its interrupted call was not made by an instruction for system calls";
  }
  if (is_in_call(at)) {
    switch (*call_number(at)) {
      case kVfork: return "it is in vfork";
      // The threads that a collector has stopped wait here, in the handler of its signal.
      case SYS_rt_sigsuspend: return "it waits in a signal handler";
      default: break;
    }
  }
  return std::nullopt;
}

int reluctance_to(const Candidate& candidate) {
  int reluctance = 0;
  if (candidate.sequence && candidate.sequence->is_inside) reluctance += 4;
  // A thread that blocks both signals is probably in a signal handler, perhaps a collector's.
  if ((candidate.mask & kSignalPwr) != 0 && (candidate.mask & kSignalXcpu) != 0) reluctance += 2;
  if (is_in_call(candidate.registers) && call_state(candidate.registers) == CallState::None) {
    ++reluctance;  // it has just made a thread, or its call was interrupted
  }
  return reluctance;
}

std::optional<std::string_view> objection_in_place(const Candidate& candidate) {
  if (const auto objection = objection_to(candidate)) return objection;
  if (candidate.sequence->is_inside) return "it is in a restartable sequence";
  if (candidate.filters != Filters::None) {
    return "a seccomp filter applies to it, which may kill it for what the function does";
  }
  // If a signal of a fault is blocked, a crash kills the process without calling its handler.
  if ((candidate.mask & kFaults) != 0) return "it blocks the signals that a crash sends";
  const RawRegisters& at = candidate.registers;
  if (!is_in_call(at)) return std::nullopt;
  if (call_state(at) == CallState::RestartsRest) {
    return "it waits with a timeout, and only the kernel knows how much of it is left";
  }
  const bool is_interrupted = call_result(at) == -EINTR;
  const bool goes_on = candidate.is_after_syscall && is_rewindable(at);
  if (is_interrupted && !goes_on) return "it is in a system call that cannot be restarted";
  return std::nullopt;
}

Result<Borrowed> borrow_in_place(const BorrowFrom& from, const FrozenThread& thread) {
  FilterVerdicts verdicts;
  const Candidate seen = HA_TRY(look_at(from, thread, verdicts));
  if (const auto objection = objection_in_place(seen)) {
    return Error{ErrorKind::Impossible, std::string(*objection)};
  }
  return borrow(from, seen);
}

std::vector<const FrozenThread*> stopped_threads(const FrozenView& view) {
  std::vector<const FrozenThread*> stopped;
  for (const FrozenThread& thread : view.threads) {
    if (thread.registers) stopped.push_back(&thread);
  }
  return stopped;
}

Result<Borrowed> choose_thread(const BorrowFrom& from,
                               std::span<const FrozenThread* const> threads) {
  std::optional<Candidate> best;
  FilterVerdicts verdicts;
  std::string why = "none is stopped";
  bool all_filtered = !threads.empty();
  std::size_t looked_at = 0;
  for (const FrozenThread* const thread : threads) {
    if (best && (reluctance_to(*best) == 0 || looked_at >= kMostLookedAt)) break;
    ++looked_at;
    auto seen = look_at(from, *thread, verdicts);
    if (!seen) {
      why = fmt::format("thread {}: {}", thread->tid, seen.error().message());
      all_filtered = false;
      continue;
    }
    if (const auto objection = objection_to(*seen)) {
      all_filtered = all_filtered && seen->filters > Filters::Harmless;
      why = fmt::format("thread {}: {}", thread->tid, *objection);
    } else if (!best || reluctance_to(*seen) < reluctance_to(*best)) {
      best = *seen;
    }
  }
  if (best) return borrow(from, *best);
  return no_thread(all_filtered ? ErrorKind::Denied : ErrorKind::Impossible, threads.size(), why);
}

}  // namespace heapattach
