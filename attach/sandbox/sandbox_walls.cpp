#include "attach/sandbox/sandbox_walls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "attach/arch/system_calls.h"
#include "attach/base/sanitized.h"
#include "attach/sandbox/filter_program.h"

// The filter allows what libelf, libdw and the allocator do while they read an open descriptor.
// Everything else fails with EPERM instead of killing the worker, because libraries try much that
// they can do without (sysinfo for a sort, open for a settings file). Calls that no reader of debug
// information ever makes end the worker, so that an attempt is noticed.

namespace heapattach {
namespace {

constexpr std::uint32_t kNobody = 65534;

constexpr std::array kAllowed = {
    SYS_read,          SYS_pread64,     SYS_readv,          SYS_lseek,        SYS_fstat,
    SYS_close,         SYS_munmap,      SYS_mremap,         SYS_madvise,      SYS_brk,
    SYS_futex,         SYS_exit,        SYS_exit_group,     SYS_getpid,       SYS_gettid,
    SYS_sched_yield,   SYS_getrandom,   SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigaction,
    SYS_clock_gettime, SYS_sigaltstack,
};

// In addition, what a tool with threads and workers does with its open files.
constexpr std::array kAllowedToTool = {
    SYS_write,     SYS_writev,          SYS_pwrite64,        SYS_fsync,
    kPoll,         SYS_ppoll,           SYS_pipe2,           kDup2,
    SYS_dup3,      SYS_close_range,     SYS_wait4,           SYS_set_robust_list,
    SYS_rseq,      SYS_set_tid_address, SYS_restart_syscall, SYS_sched_getaffinity,
    SYS_sysinfo,   SYS_uname,           SYS_getuid,          SYS_geteuid,
    SYS_getgid,    SYS_getegid,         SYS_getppid,         SYS_clock_nanosleep,
    SYS_nanosleep, SYS_setresuid,       SYS_setresgid,       SYS_setgroups,
    SYS_capset,    SYS_seccomp,         SYS_setitimer,       SYS_membarrier,
    SYS_getrusage, SYS_times,
};

// In addition, what a server does with its connections.
constexpr std::array kAllowedToServer = {
    SYS_accept4,    SYS_epoll_ctl,   SYS_epoll_pwait, kEpollWait,          kPoll,
    SYS_ppoll,      SYS_recvfrom,    SYS_recvmsg,     SYS_sendto,          SYS_sendmsg,
    SYS_sendfile,   SYS_write,       SYS_writev,      SYS_shutdown,        SYS_setsockopt,
    SYS_getsockopt, SYS_getsockname, SYS_getpeername, SYS_clock_nanosleep,
};

constexpr std::array kDeadly = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_sendto,
    SYS_sendmsg,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_mount,
    SYS_setns,
    SYS_unshare,
    SYS_chroot,
    SYS_pivot_root,
    SYS_bpf,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
    SYS_io_uring_setup,
    SYS_userfaultfd,
    SYS_perf_event_open,
    SYS_memfd_create,
    kUnlink,
    SYS_unlinkat,
    kRename,
    SYS_renameat,
    SYS_renameat2,
    SYS_keyctl,
    SYS_add_key,
};

using Arguments = FilterProgram::Arguments;

std::uint32_t word(long value) {
  return static_cast<std::uint32_t>(value);
}

// Allows calls that concern only memory, open files and the process itself.
FilterProgram allow_computing() {
  FilterProgram filter(SECCOMP_RET_KILL_PROCESS);
  for (const long call : kAllowed) filter.judge(call, SECCOMP_RET_ALLOW);
  // The C library's fstat(), and what abort() calls.
  filter.judge(SYS_newfstatat, Arguments().of(3).if_equal(AT_EMPTY_PATH, SECCOMP_RET_ALLOW));
  filter.judge(SYS_tgkill, Arguments().of(0).if_equal(word(getpid()), SECCOMP_RET_ALLOW));
  for (const long call : {SYS_mmap, SYS_mprotect}) {
    filter.judge(call, Arguments().of(2).if_no_bit(PROT_EXEC, SECCOMP_RET_ALLOW));
  }
  return filter;
}

// Refuses everything that has not been allowed, and ends a process that tries one of kDeadly.
void refuse_others(FilterProgram& filter) {
  for (const long call : kDeadly) filter.judge(call, SECCOMP_RET_KILL_PROCESS);
  filter.otherwise(SECCOMP_RET_ERRNO | EPERM);
}

// The limit of the kernel (BPF_MAXINSNS) is far away.
bool install(const FilterProgram& filter) {
  std::vector<sock_filter> code = filter.code();
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Allows the calls with which the C library starts a thread, waits in it, and counts the cores.
void allow_threads(FilterProgram& filter) {
  constexpr std::uint32_t kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                         CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                         CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  filter.judge(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);  // then it uses clone()
  filter.judge(SYS_clone, Arguments().of(0).if_equal(kThreadFlags, SECCOMP_RET_ALLOW));
  // Where there is no poll(), it is ppoll().
  constexpr long kPolls = kPoll < 0 ? SYS_ppoll : kPoll;
  for (const long call :
       {long{SYS_set_robust_list}, long{SYS_rseq}, long{SYS_sched_getaffinity}, kPolls}) {
    filter.judge(call, SECCOMP_RET_ALLOW);
  }
}

bool install_filter(int output, bool may_start_threads) {
  FilterProgram filter = allow_computing();
  if (may_start_threads) allow_threads(filter);
  for (const long call : {SYS_write, SYS_writev}) {
    filter.judge(call, Arguments().of(0).if_equal(word(output), SECCOMP_RET_ALLOW));
  }
  // The sanitizers write a report, and use a pipe to find out whether they may read memory.
  if (kIsSanitized) {
    for (const long call : {SYS_write, kPipe, SYS_pipe2}) filter.judge(call, SECCOMP_RET_ALLOW);
  }
  filter.judge(SYS_tgkill, SECCOMP_RET_KILL_PROCESS);
  refuse_others(filter);
  return install(filter);
}

// `may_signal`: only its own workers, which another mechanism ensures.
bool install_tool_filter(int broker, bool may_signal) {
  constexpr std::uint32_t kNewNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                                           CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                                           CLONE_NEWCGROUP | CLONE_PTRACE;
  FilterProgram filter = allow_computing();
  for (const long call : kAllowedToTool) filter.judge(call, SECCOMP_RET_ALLOW);
  // Its flags are in memory; the C library then uses clone(), whose flags the filter can see.
  filter.judge(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
  filter.judge(SYS_clone, Arguments().of(0).if_no_bit(kNewNamespaces, SECCOMP_RET_ALLOW));
  for (const int command : {F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETPIPE_SZ}) {
    filter.judge(SYS_fcntl, Arguments().of(1).if_equal(word(command), SECCOMP_RET_ALLOW));
  }
  for (const int request : {TCGETS, TIOCGWINSZ}) {
    filter.judge(SYS_ioctl, Arguments().of(1).if_equal(word(request), SECCOMP_RET_ALLOW));
  }
  for (const int option : {PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_SET_NAME}) {
    filter.judge(SYS_prctl, Arguments().of(0).if_equal(word(option), SECCOMP_RET_ALLOW));
  }
  filter.judge(SYS_prlimit64, Arguments().of(0).if_equal(0, SECCOMP_RET_ALLOW));  // of itself
  for (const long call : {SYS_sendto, SYS_sendmsg, SYS_recvmsg}) {
    filter.judge(call, Arguments().of(0).if_equal(word(broker), SECCOMP_RET_ALLOW));
  }
  filter.judge(SYS_memfd_create, SECCOMP_RET_ALLOW);  // a core file's vdso becomes a file
  filter.judge(SYS_kill, may_signal ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
  refuse_others(filter);
  return install(filter);
}

bool install_server_filter() {
  FilterProgram filter = allow_computing();
  for (const long call : kAllowedToServer) filter.judge(call, SECCOMP_RET_ALLOW);
  for (const int command : {F_GETFD, F_SETFD, F_GETFL, F_SETFL}) {
    filter.judge(SYS_fcntl, Arguments().of(1).if_equal(word(command), SECCOMP_RET_ALLOW));
  }
  refuse_others(filter);
  return install(filter);
}

// Newer than the headers that we may be built with.
struct LandlockRules {
  std::uint64_t file_system = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};
constexpr std::uint64_t kScopedSignals = 2;

// Gives up the whole file system, the network, and signals to others, as far as this kernel's
// Landlock supports them. Returns whether signals are included.
bool give_up_surroundings() {
  constexpr long kCreateRuleset = 444;
  constexpr long kRestrictSelf = 446;
  constexpr unsigned kAskVersion = 1;
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return false;
  // File rights: 13 in the first version, one more each in 2, 3 and 5.
  const int rights = 13 + static_cast<int>(version >= 2) + static_cast<int>(version >= 3) +
                     static_cast<int>(version >= 5);
  LandlockRules rules;
  rules.file_system = (std::uint64_t{1} << rights) - 1;
  std::size_t bytes = sizeof rules.file_system;
  if (version >= 4) {
    rules.network = 3;  // bind and connect
    bytes += sizeof rules.network;
  }
  if (version >= 6) {
    rules.scoped = kScopedSignals | 1;  // abstract sockets
    bytes += sizeof rules.scoped;
  }
  const long ruleset = syscall(kCreateRuleset, &rules, bytes, 0);
  if (ruleset < 0) return false;
  const bool is_done = syscall(kRestrictSelf, ruleset, 0) == 0;
  close(static_cast<int>(ruleset));
  return is_done && version >= 6;
}

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

// Files that a worker still needs, kept open by a process that cannot open them any more.
int kept_null = -1;
int kept_statm = -1;

int open_null() {
  return kept_null >= 0 ? kept_null : open("/dev/null", O_RDWR | O_CLOEXEC);
}

// For a confined process, that of the process that forked this worker, which has nearly the same.
rlim_t mapped_bytes() {
  const int file = kept_statm >= 0 ? kept_statm : open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  std::array<char, 64> line{};
  if (file < 0 || pread(file, line.data(), line.size() - 1, 0) <= 0) return 0;
  const unsigned long long pages = std::strtoull(line.data(), nullptr, 10);
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// Ends a waiting worker that nobody can kill.
void limit_time(std::chrono::milliseconds time) {
  const auto late = std::chrono::ceil<std::chrono::seconds>(time) + std::chrono::seconds(1);
  itimerval timer{};
  timer.it_value.tv_sec = late.count();
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void limit_resources(const SandboxLimits& limits, bool may_start_threads) {
  // The address sanitizer's shadow alone is larger than any limit.
  if (!kIsSanitized) limit(RLIMIT_AS, mapped_bytes() + limits.memory_bytes);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits.time).count();
  limit(RLIMIT_CPU, static_cast<rlim_t>(seconds) + 2);  // the parent is stricter
  limit_time(limits.time);
  limit(RLIMIT_CORE, 0);
  if (!may_start_threads) limit(RLIMIT_NPROC, 0);
  limit(RLIMIT_FSIZE, 0);
  // Limits new descriptors, which the filter refuses, too. poll() refuses to wait for more than
  // this many.
  if (!kIsSanitized) limit(RLIMIT_NOFILE, may_start_threads ? 1 : 0);
}

void close_range_of(int first, int last) {
  if (first > last) return;
  if (syscall(SYS_close_range, first, last, 0) == 0) return;
  const long most = std::min<long>(last, sysconf(_SC_OPEN_MAX));
  for (int fd = first; fd <= most; ++fd) close(fd);
}

void close_others(const SandboxLimits& limits, int output) {
  std::vector<int> kept = limits.descriptors;
  kept.push_back(output);
  close_all_but(std::move(kept));
}

void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  syscall(SYS_capset, &header, none.data());
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void drop_rights() {
  for (int capability = 0; capability < 64; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno == EINVAL) break;
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (geteuid() == 0) {  // refused if a container has no such user: no capability is left anyway
    [[maybe_unused]] const int groups = setgroups(0, nullptr);
    [[maybe_unused]] const int group = setresgid(kNobody, kNobody, kNobody);
    [[maybe_unused]] const int user = setresuid(kNobody, kNobody, kNobody);
  }
  drop_capabilities();
}

// Nothing from the worker reaches the terminal, whatever its libraries print.
void leave_terminal() {
  const int null = open_null();
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (kIsSanitized && fd == STDERR_FILENO) continue;
    if (null >= 0) dup2(null, fd);
    if (null < 0) close(fd);
  }
}

}  // namespace

void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  int next = STDERR_FILENO + 1;
  for (const int fd : kept) {
    close_range_of(next, fd - 1);
    next = std::max(next, fd + 1);
  }
  close_range_of(next, 0x7fffffff);
}

bool put_up_walls_to_serve(const ServerWalls& walls) {
  leave_terminal();
  if (!kIsSanitized) limit(RLIMIT_AS, mapped_bytes() + walls.memory_bytes);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NPROC, 0);
  limit(RLIMIT_FSIZE, 0);
  drop_rights();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of user resets it
  if (getppid() != walls.parent) _exit(1);
  give_up_surroundings();
  return install_server_filter();
}

bool put_up_walls(const SandboxLimits& limits, int output, const WallsFor& how) {
  leave_terminal();
  limit_resources(limits, how.may_start_threads);
  close_others(limits, output);
  drop_rights();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of user resets it
  if (getppid() != how.parent) _exit(1);
  return install_filter(output, how.may_start_threads);
}

void give_up_privileges(int output, pid_t parent) {
  leave_terminal();
  close_others({}, output);
  limit(RLIMIT_CORE, 0);
  drop_capabilities();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

std::vector<std::string> give_up_rights(int broker, pid_t parent) {
  if (kIsSanitized) return {"a sanitized build keeps its rights"};
  kept_null = open("/dev/null", O_RDWR | O_CLOEXEC);
  kept_statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  limit(RLIMIT_CORE, 0);
  drop_rights();
  if (parent != 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of user resets it
    if (getppid() != parent) _exit(1);
  }
  const bool has_scope = give_up_surroundings();
  if (install_tool_filter(broker, has_scope)) return {};
  return {"no system call filter could be installed; other rights were given up"};
}

}  // namespace heapattach
