#include "attach/stop/rewind.h"

#include <cerrno>

#include <sys/syscall.h>

#include "attach/arch/x86_64.h"

// The constraints, with what they rest on:
//
// - A stop interrupts a thread's call, and the call's result is in rax when we see it. -ERESTARTSYS
//   and its relatives (-512 … -516) never reach the program: on the way out the kernel backs up to
//   the call, with what is left of its time. Nothing is done for those. -EINTR is final. It is in
//   rax before any handler ran: after a handler, or in one, orig_rax is -1 (rt_sigreturn sets it)
//   or rax is something else.
// - Only calls whose arguments show that they wait for ever are listed. accept, recv and similar
//   calls return EINTR only on sockets that have a timeout, which the arguments do not show: never.
// - `syscall` is two bytes (0f 05) and rip points after it, so rip - 2 enters the call again with
//   the same arguments: the kernel has changed only rax, rcx and r11. orig_rax = -1 marks the
//   thread as being in no call, so the kernel does not change rax again.
// - A restartable sequence (rseq(2)) needs no care here. When a thread returns to user space after
//   it was switched out, which happens at each stop, the kernel moves rip to the sequence's abort
//   handler if rip is inside. So a freeze that changes no register aborts a sequence as any
//   preemption does. And we change registers only of a thread in a system call, which a sequence
//   must not contain; the rip we set is in the same code as the one we found.

namespace heapattach {

namespace {

constexpr bool is_negative_int(unsigned long long value) {
  return static_cast<int>(value) < 0;
}

// IORING_ENTER_GETEVENTS, and IORING_ENTER_EXT_ARG, whose argument may hold a time limit.
constexpr unsigned long long kWaitForCompletions = 1U << 0;
constexpr unsigned long long kExtendedArgument = 1U << 3;

bool waits_for_ever(const RawRegisters& at_stop) {
  switch (at_stop.orig_rax) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait: return is_negative_int(at_stop.r10);
    case SYS_epoll_pwait2: return at_stop.r10 == 0;
    case SYS_rt_sigtimedwait: return at_stop.rdx == 0;
    case SYS_semop: return true;
    case SYS_semtimedop: return at_stop.r10 == 0;
    case SYS_io_getevents:
    case SYS_io_pgetevents: return at_stop.r8 == 0;
    case SYS_io_uring_enter:
      return (at_stop.r10 & (kWaitForCompletions | kExtendedArgument)) == kWaitForCompletions;
    default: return false;
  }
}

}  // namespace

bool is_rewindable(const RawRegisters& at_stop) {
  return at_stop.rax == static_cast<unsigned long long>(-EINTR) && waits_for_ever(at_stop);
}

std::optional<RawRegisters> rewound(const RawRegisters& at_stop,
                                    std::uint64_t deliverable_signals) {
  if (deliverable_signals != 0 || !is_rewindable(at_stop)) return std::nullopt;
  RawRegisters again = at_stop;
  again.rax = at_stop.orig_rax;
  again.rip -= kSyscallBytes;
  again.orig_rax = static_cast<unsigned long long>(-1);
  return again;
}

}  // namespace heapattach
