#include "attach/stop/rewind.h"

#include <cerrno>

#include <sys/syscall.h>

#include "attach/arch/system_calls.h"

// The constraints, with their reasons:
//
// - A stop interrupts a thread's call, and the registers have the call's result when we see it.
//   -ERESTARTSYS and its relatives (-512 … -516) never reach the program: on the way out, the
//   kernel backs up to the call, with the rest of its time. So we leave them alone. -EINTR is
//   final. It is the result before any handler ran: after a handler, or in one, the thread is in no
//   call or the result is something else.
// - Only calls whose arguments show that they wait for ever are listed. accept, recv and similar
//   calls return EINTR only on sockets that have a timeout, which the arguments do not show. So
//   they are not listed.
// - To enter the call again, the thread repeats the instruction that made it, and is marked as
// being
//   in no call, so that the kernel does not change the number again.
// - A restartable sequence (rseq(2)) needs no care here. When a thread returns to user space after
//   it was switched out, which happens at each stop, the kernel moves the instruction pointer to
//   the sequence's abort handler if it is inside. So a freeze that changes no register aborts a
//   sequence as any preemption does. And we change registers only of a thread in a system call,
//   which a sequence must not contain; the address we set is in the same code as the one we found.

namespace heapattach {

namespace {

constexpr bool is_negative_int(unsigned long long value) {
  return static_cast<int>(value) < 0;
}

// IORING_ENTER_GETEVENTS, and IORING_ENTER_EXT_ARG, whose argument may hold a time limit.
constexpr unsigned long long kWaitForCompletions = 1U << 0;
constexpr unsigned long long kExtendedArgument = 1U << 3;

bool waits_for_ever(const RawRegisters& at_stop) {
  const auto argument = [&](unsigned number) { return call_argument(at_stop, number); };
  switch (call_number(at_stop).value_or(-1)) {
    case kEpollWait:
    case SYS_epoll_pwait: return is_negative_int(argument(3));
    case SYS_epoll_pwait2: return argument(3) == 0;
    case SYS_rt_sigtimedwait: return argument(2) == 0;
    case SYS_semop: return true;
    case SYS_semtimedop: return argument(3) == 0;
    case SYS_io_getevents:
    case SYS_io_pgetevents: return argument(4) == 0;
    case SYS_io_uring_enter:
      return (argument(3) & (kWaitForCompletions | kExtendedArgument)) == kWaitForCompletions;
    default: return false;
  }
}

}  // namespace

bool is_rewindable(const RawRegisters& at_stop) {
  return call_result(at_stop) == -EINTR && waits_for_ever(at_stop);
}

std::optional<RawRegisters> rewound(const RawRegisters& at_stop,
                                    std::uint64_t deliverable_signals) {
  if (deliverable_signals != 0 || !is_rewindable(at_stop)) return std::nullopt;
  RawRegisters again = at_stop;
  call_again(again, *call_number(at_stop));
  return again;
}

}  // namespace heapattach
