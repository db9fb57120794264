#include "inject/call_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "attach/x86_64.h"
#include "inject/call_names.h"

namespace heapattach {

namespace {

// Missing from the headers of some supported systems.
constexpr int kEpollPwait2 = 441;
constexpr int kFaccessat2 = 439;
constexpr int kFutexWaitv = 449;
constexpr unsigned kSetVma = 0x53564d41;  // PR_SET_VMA: names its own memory

constexpr std::array kFree{
    // memory
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mincore, SYS_membarrier,
    // time
    SYS_time, SYS_gettimeofday, SYS_clock_gettime, SYS_clock_getres, SYS_nanosleep,
    SYS_clock_nanosleep, SYS_times,
    // its own threads and signals
    SYS_futex, kFutexWaitv, SYS_set_robust_list, SYS_set_tid_address, SYS_rseq, SYS_arch_prctl,
    SYS_sched_yield, SYS_sched_getaffinity, SYS_getcpu, SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_sigaltstack,
    SYS_pause, SYS_exit, SYS_exit_group, SYS_restart_syscall,
    // its identity
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
    SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_getpgrp, SYS_getpgid, SYS_getsid, SYS_uname,
    SYS_sysinfo, SYS_getrusage, SYS_getrlimit, SYS_getpriority, SYS_getrandom, SYS_getcwd,
    // files
    SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_write, SYS_writev, SYS_pwrite64, SYS_lseek,
    SYS_close, SYS_close_range, SYS_dup, SYS_dup2, SYS_dup3, SYS_fstat, SYS_stat, SYS_lstat,
    SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_access, SYS_faccessat, kFaccessat2,
    SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_fadvise64, SYS_fsync, SYS_fdatasync,
    // waiting for open files, which are its own
    SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait,
    SYS_epoll_pwait, kEpollPwait2, SYS_eventfd2, SYS_pipe, SYS_pipe2};

constexpr std::array<std::string_view, 25> kChangeFiles{
    "open",    "openat",    "openat2", "creat",    "mkdir",     "mkdirat",   "rmdir",
    "unlink",  "unlinkat",  "rename",  "renameat", "renameat2", "link",      "linkat",
    "symlink", "symlinkat", "mknod",   "mknodat",  "truncate",  "ftruncate", "fallocate",
    "chmod",   "chown",     "connect", "bind"};

// The pipe that a function writes to, and its other open files.
bool is_own_descriptor(std::string_view path) {
  constexpr std::string_view kOwn = "/proc/self/fd/";
  if (!path.starts_with(kOwn)) return false;
  path.remove_prefix(kOwn.size());
  return !path.empty() && path.find_first_not_of("0123456789") == std::string_view::npos;
}

bool may_open(std::uint64_t path, std::uint64_t flags, const MemoryReader& memory) {
  constexpr std::uint64_t kChanging = O_ACCMODE | O_CREAT | O_TRUNC;
  if ((flags & kChanging) == O_RDONLY) return true;
  std::array<char, 64> text{};
  const auto got = memory.read_some({path}, std::as_writable_bytes(std::span(text)));
  if (!got) return true;  // the kernel will report it
  const auto* const end = std::find(text.begin(), text.end(), '\0');
  return end != text.end() &&
         is_own_descriptor({text.data(), static_cast<std::size_t>(end - text.begin())});
}

bool may_control_file(std::uint64_t command, std::uint64_t argument) {
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
    case F_GETFD:
    case F_SETFD:
    case F_GETFL: return true;
    case F_SETFL: return (argument & O_ASYNC) == 0;  // which makes the file signal its owner
    default: return false;
  }
}

bool may_control_device(std::uint64_t command) {
  return command == TCGETS || command == TIOCGWINSZ || command == FIONREAD || command == FIOCLEX ||
         command == FIONCLEX || command == FIONBIO;
}

bool overlaps(const std::vector<Range>& ranges, std::uint64_t start, std::uint64_t bytes) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;
  if (start >= kEnd || bytes >= kEnd) return true;
  const std::uint64_t end = start + bytes + kPageBytes;
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return start < range.end().value && range.start.value < end;
  });
}

bool is_of_process(std::uint64_t pid, const CallRules& rules) {
  return static_cast<pid_t>(pid) == rules.self;
}

}  // namespace

std::span<const int> free_calls() {
  return kFree;
}

bool is_allowed(const CallRules& rules, const RawRegisters& at, const MemoryReader& memory) {
  switch (at.orig_rax) {
    case SYS_open: return may_open(at.rdi, at.rsi, memory);
    case SYS_openat: return may_open(at.rsi, at.rdx, memory);
    case SYS_fcntl: return may_control_file(at.rsi, at.rdx);
    case SYS_ioctl: return may_control_device(at.rsi);
    case SYS_prctl: return at.rdi == PR_SET_NAME || at.rdi == PR_GET_NAME || at.rdi == kSetVma;
    // Only to query.
    case SYS_prlimit64: return (at.rdi == 0 || is_of_process(at.rdi, rules)) && at.rdx == 0;
    // A thread id that the code saved before it was cloned belongs to another process: musl's
    // raise() would send SIGABRT to the target's thread that the clone was made from.
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo: return is_of_process(at.rdi, rules);
    case SYS_mprotect: return (at.rdx & PROT_WRITE) == 0 || !overlaps(rules.shared, at.rdi, at.rsi);
    case SYS_mremap: return !overlaps(rules.shared, at.rdi, at.rsi);
    case SYS_madvise: return at.rdx != MADV_REMOVE;
    default: return false;
  }
}

bool may_change_files(const CallRules& rules) {
  return std::any_of(rules.beyond.begin(), rules.beyond.end(), [](int number) {
    return std::find(kChangeFiles.begin(), kChangeFiles.end(), call_name(number)) !=
           kChangeFiles.end();
  });
}

}  // namespace heapattach
