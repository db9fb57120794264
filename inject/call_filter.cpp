#include "inject/call_filter.h"

#include <array>
#include <cerrno>

#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

#include "attach/arch/system_calls.h"

namespace heapattach {

namespace {

using Arguments = FilterProgram::Arguments;

// The kernel headers of some systems lack these calls.
constexpr int kClone3 = 435;
constexpr int kOpenat2 = 437;
constexpr int kFutexWaitv = 449;
constexpr int kFutexWake = 454;
constexpr int kFutexWait = 455;
constexpr int kFutexRequeue = 456;
constexpr int kFutexLockPi2 = 13;
constexpr unsigned kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

// Allows private futexes, except those with priority inheritance. Such a futex has the tid of its
// owner, a thread of the target, and the kernel would raise that thread's priority.
Arguments of_futex() {
  constexpr std::array kInheriting{FUTEX_LOCK_PI, FUTEX_TRYLOCK_PI, FUTEX_WAIT_REQUEUE_PI,
                                   FUTEX_CMP_REQUEUE_PI, kFutexLockPi2};
  Arguments rules;
  rules.of(1, static_cast<unsigned>(FUTEX_CMD_MASK));
  for (const int command : kInheriting) {
    rules.if_equal(static_cast<unsigned>(command), SECCOMP_RET_TRACE | kTriesCall);
  }
  return rules.of(1)
      .if_any_bit(FUTEX_PRIVATE_FLAG, SECCOMP_RET_ALLOW)
      .otherwise(SECCOMP_RET_TRACE | kSharedFutex);
}

// Allows new threads only, because they inherit our tracing.
Arguments of_clone() {
  return Arguments()
      .of(0)
      .if_any_bit(CLONE_UNTRACED, SECCOMP_RET_TRACE | kTriesProcess)
      .if_any_bit(CLONE_THREAD, SECCOMP_RET_ALLOW)
      .otherwise(SECCOMP_RET_TRACE | kTriesProcess);
}

}  // namespace

FilterProgram call_filter(const CallRules& rules) {
  FilterProgram filter(kUnknown);
  // exit comes before the calls that the user allows, because it may be one of them.
  filter.judge(SYS_exit, SECCOMP_RET_TRACE | kEndsThread);
  for (const int number : rules.beyond) filter.judge(number, SECCOMP_RET_ALLOW);
  filter.judge(SYS_futex, of_futex());
  for (const int number : free_calls()) filter.judge(number, SECCOMP_RET_ALLOW);
  if (rules.shared.empty()) {
    for (const int number : {SYS_mprotect, SYS_mremap, SYS_madvise}) {
      filter.judge(number, SECCOMP_RET_ALLOW);
    }
  }
  for (const int number : {SYS_execve, SYS_execveat}) {
    filter.judge(number, SECCOMP_RET_TRACE | kTriesProgram);
  }
  for (const int number : {kFork, kVfork}) filter.judge(number, SECCOMP_RET_TRACE | kTriesProcess);
  // These calls get an error, because their arguments are in memory, where a filter cannot look.
  // Libraries fall back to older calls.
  for (const int number : {kClone3, kOpenat2, kFutexWaitv, kFutexWake, kFutexWait, kFutexRequeue}) {
    filter.judge(number, kUnknown);
  }
  filter.judge(SYS_clone, of_clone());
  filter.otherwise(SECCOMP_RET_TRACE | kTriesCall);
  return filter;
}

}  // namespace heapattach
