#include "inject/call_filter.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

namespace heapattach {

namespace {

using Filter = std::vector<sock_filter>;

// Newer than the kernel headers of some systems.
constexpr int kClone3 = 435;
constexpr int kOpenat2 = 437;
constexpr int kFutexWaitv = 449;
constexpr int kFutexWake = 454;
constexpr int kFutexWait = 455;
constexpr int kFutexRequeue = 456;
constexpr int kFutexLockPi2 = 13;
constexpr unsigned kX32Bit = 0x40000000;
// Offsets in struct seccomp_data.
constexpr unsigned kNumber = offsetof(seccomp_data, nr);
constexpr unsigned kArchitecture = offsetof(seccomp_data, arch);
constexpr unsigned kFirstArgument = offsetof(seccomp_data, args);  // its low half
constexpr unsigned kSecondArgument = kFirstArgument + sizeof(std::uint64_t);

constexpr unsigned kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

void load(Filter& filter, unsigned offset) {
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

void give(Filter& filter, unsigned verdict) {
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, verdict));
}

// Skips the next `count` instructions unless the loaded word is `value`.
void unless_is(Filter& filter, int value, std::uint8_t count) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(value), 0, count));
}

void verdict_on(Filter& filter, int number, unsigned verdict) {
  unless_is(filter, number, 1);
  give(filter, verdict);
}

// Private futexes are allowed, except with priority inheritance: the futex names its owner, a
// thread of the target, and the kernel would raise that thread's priority.
void judge_futex(Filter& filter) {
  constexpr std::array kInheriting{FUTEX_LOCK_PI, FUTEX_TRYLOCK_PI, FUTEX_WAIT_REQUEUE_PI,
                                   FUTEX_CMP_REQUEUE_PI, kFutexLockPi2};
  Filter judging;
  load(judging, kSecondArgument);
  judging.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, static_cast<unsigned>(FUTEX_CMD_MASK)));
  for (const int command : kInheriting) {
    verdict_on(judging, command, SECCOMP_RET_TRACE | kTriesCall);
  }
  load(judging, kSecondArgument);
  judging.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FUTEX_PRIVATE_FLAG, 1, 0));
  give(judging, SECCOMP_RET_TRACE | kSharedFutex);
  give(judging, SECCOMP_RET_ALLOW);
  unless_is(filter, SYS_futex, static_cast<std::uint8_t>(judging.size()));
  filter.insert(filter.end(), judging.begin(), judging.end());
}

}  // namespace

std::vector<sock_filter> call_filter(const CallRules& rules) {
  Filter filter;
  load(filter, kArchitecture);
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
  give(filter, kUnknown);
  load(filter, kNumber);
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1));
  give(filter, kUnknown);
  // Before the calls that the user allows, because exit may be one of them.
  verdict_on(filter, SYS_exit, SECCOMP_RET_TRACE | kEndsThread);
  for (const int number : rules.beyond) verdict_on(filter, number, SECCOMP_RET_ALLOW);
  judge_futex(filter);
  for (const int number : free_calls()) verdict_on(filter, number, SECCOMP_RET_ALLOW);
  if (rules.shared.empty()) {
    for (const int number : {SYS_mprotect, SYS_mremap, SYS_madvise}) {
      verdict_on(filter, number, SECCOMP_RET_ALLOW);
    }
  }
  for (const int number : {SYS_execve, SYS_execveat}) {
    verdict_on(filter, number, SECCOMP_RET_TRACE | kTriesProgram);
  }
  for (const int number : {SYS_fork, SYS_vfork}) {
    verdict_on(filter, number, SECCOMP_RET_TRACE | kTriesProcess);
  }
  // Their arguments are in memory, where a filter cannot look; libraries then fall back to older
  // calls.
  for (const int number : {kClone3, kOpenat2, kFutexWaitv, kFutexWake, kFutexWait, kFutexRequeue}) {
    verdict_on(filter, number, kUnknown);
  }
  unless_is(filter, SYS_clone, 5);
  load(filter, kFirstArgument);
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_UNTRACED, 1, 0));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  give(filter, SECCOMP_RET_TRACE | kTriesProcess);
  give(filter, SECCOMP_RET_ALLOW);
  give(filter, SECCOMP_RET_TRACE | kTriesCall);
  return filter;
}

}  // namespace heapattach
