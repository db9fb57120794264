#include "inject/call_filter.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

namespace heapattach {

namespace {

using Filter = std::vector<sock_filter>;

// A later part of the kernel's headers than some systems have.
constexpr int kClone3 = 435;
constexpr int kPidfdSendSignal = 424;
constexpr unsigned kX32Bit = 0x40000000;
// Offsets in struct seccomp_data.
constexpr unsigned kNumber = offsetof(seccomp_data, nr);
constexpr unsigned kArchitecture = offsetof(seccomp_data, arch);
constexpr unsigned kFirstArgument = offsetof(seccomp_data, args);  // its low half

constexpr unsigned kRefuse = SECCOMP_RET_ERRNO | EPERM;
constexpr unsigned kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

void load(Filter& filter, unsigned offset) {
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

void give(Filter& filter, unsigned verdict) {
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, verdict));
}

// Goes on behind the next `count` instructions unless the loaded word is `value`.
void unless_is(Filter& filter, unsigned value, std::uint8_t count) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
}

void verdict_on(Filter& filter, int number, unsigned verdict) {
  unless_is(filter, static_cast<unsigned>(number), 1);
  give(filter, verdict);
}

// A call whose first argument says whom it is about.
void only_about(Filter& filter, int number, pid_t self) {
  unless_is(filter, static_cast<unsigned>(number), 4);
  load(filter, kFirstArgument);
  unless_is(filter, static_cast<unsigned>(self), 1);
  give(filter, SECCOMP_RET_ALLOW);
  give(filter, kRefuse);
}

}  // namespace

std::vector<sock_filter> call_filter(pid_t self) {
  Filter filter;
  load(filter, kArchitecture);
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
  give(filter, kUnknown);
  load(filter, kNumber);
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1));
  give(filter, kUnknown);
  for (const int number : {SYS_execve, SYS_execveat}) {
    verdict_on(filter, number, SECCOMP_RET_TRACE | kTriesProgram);
  }
  for (const int number : {SYS_fork, SYS_vfork}) {
    verdict_on(filter, number, SECCOMP_RET_TRACE | kTriesProcess);
  }
  // Its flags lie in memory, where no filter can look; libraries then take the older one.
  verdict_on(filter, kClone3, kUnknown);
  for (const int number : {SYS_ptrace, SYS_process_vm_writev, SYS_tkill}) {
    verdict_on(filter, number, kRefuse);
  }
  verdict_on(filter, kPidfdSendSignal, kRefuse);
  for (const int number : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}) {
    only_about(filter, number, self);
  }
  unless_is(filter, SYS_clone, 3);
  load(filter, kFirstArgument);
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  give(filter, SECCOMP_RET_TRACE | kTriesProcess);
  give(filter, SECCOMP_RET_ALLOW);
  return filter;
}

}  // namespace heapattach
