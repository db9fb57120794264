#include "inject/call_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "attach/arch/system_calls.h"
#include "attach/base/page.h"

namespace heapattach {

namespace {

// The headers of some supported systems lack these two calls.
constexpr int kEpollPwait2 = 441;
constexpr int kFaccessat2 = 439;
constexpr unsigned kSetVma = 0x53564d41;  // PR_SET_VMA: gives memory a name

constexpr std::array kFree{
    // memory
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mincore, SYS_membarrier,
    // time
    kTime, SYS_gettimeofday, SYS_clock_gettime, SYS_clock_getres, SYS_nanosleep,
    SYS_clock_nanosleep, SYS_times,
    // threads and signals of the clone
    SYS_set_robust_list, SYS_set_tid_address, SYS_rseq, kArchPrctl, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_getcpu, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_sigaltstack, kPause,
    SYS_exit_group, SYS_restart_syscall,
    // the clone's identity
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
    SYS_getresuid, SYS_getresgid, SYS_getgroups, kGetpgrp, SYS_getpgid, SYS_getsid, SYS_uname,
    SYS_sysinfo, SYS_getrusage, SYS_getrlimit, SYS_getpriority, SYS_getrandom, SYS_getcwd,
    // files
    SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_write, SYS_writev, SYS_pwrite64, SYS_lseek,
    SYS_close, SYS_close_range, SYS_dup, kDup2, SYS_dup3, SYS_fstat, kStat, kLstat, SYS_newfstatat,
    SYS_statx, SYS_statfs, SYS_fstatfs, kAccess, SYS_faccessat, kFaccessat2, kReadlink,
    SYS_readlinkat, SYS_getdents64, SYS_fadvise64, SYS_fsync, SYS_fdatasync,
    // waiting for open files
    kPoll, SYS_ppoll, kSelect, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, kEpollWait,
    SYS_epoll_pwait, kEpollPwait2, SYS_eventfd2, kPipe, SYS_pipe2};

// The number N of /proc/self/fd/N and its synonyms, by which a function opens one of its own files.
std::optional<int> own_descriptor(std::string_view path) {
  constexpr std::array<std::string_view, 3> kStandard{"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  const auto* const standard = std::find(kStandard.begin(), kStandard.end(), path);
  if (standard != kStandard.end()) return static_cast<int>(standard - kStandard.begin());
  for (const std::string_view own : {"/proc/self/fd/", "/dev/fd/"}) {
    if (!path.starts_with(own)) continue;
    path.remove_prefix(own.size());
    int number = 0;
    const auto [rest, failure] = std::from_chars(path.data(), path.data() + path.size(), number);
    const bool is_number = failure == std::errc{} && rest == path.data() + path.size();
    if (is_number && number >= 0) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

// Reads the path in the clone's memory. Returns nothing if it cannot be read: the kernel then
// refuses the call by itself.
std::optional<std::string> path_at(RemoteAddr at, const MemoryReader& memory) {
  std::string path;
  std::array<char, 256> piece{};
  while (path.size() < PATH_MAX) {
    const auto got = memory.read_some(at + path.size(), std::as_writable_bytes(std::span(piece)));
    if (!got || *got == 0) return std::nullopt;
    const auto* const until = piece.begin() + *got;
    const auto* const end = std::find(piece.cbegin(), until, '\0');
    path.append(piece.cbegin(), end);
    if (end != until) return path;
  }
  return std::nullopt;
}

struct Opening {
  int directory = AT_FDCWD;
  RemoteAddr path;
  std::uint64_t flags = 0;
};

bool may_open(const CallRules& rules, const Opening& opening, const CallingClone& clone) {
  constexpr std::uint64_t kChanging = O_ACCMODE | O_CREAT | O_TRUNC;
  const auto path = path_at(opening.path, clone.memory);
  if (!path) return true;
  const bool is_changing = (opening.flags & kChanging) != O_RDONLY;
  if (const auto own = own_descriptor(*path)) {
    const auto file = clone.files.descriptor(*own);
    if (!file.is_open) return !is_changing;
    if (!is_changing) return file.is_harmless;
    return file.is_writable && (rules.has_landlock || !clone.has_other_threads);
  }
  return !is_changing &&
         clone.files.is_harmless(opening.directory, *path, (opening.flags & O_NOFOLLOW) == 0);
}

bool may_control_file(std::uint64_t command, std::uint64_t argument) {
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
    case F_GETFD:
    case F_SETFD:
    case F_GETFL: return true;
    case F_SETFL: return (argument & O_ASYNC) == 0;  // O_ASYNC makes the file signal its owner
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
  const std::uint64_t end = start + bytes + page_bytes();
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

bool is_allowed(const CallRules& rules, const RawRegisters& at, const CallingClone& clone) {
  const auto argument = [&](unsigned number) { return call_argument(at, number); };
  switch (call_number(at).value_or(-1)) {
    case kOpen: return may_open(rules, {AT_FDCWD, {argument(0)}, argument(1)}, clone);
    case SYS_openat:
      return may_open(rules, {static_cast<int>(argument(0)), {argument(1)}, argument(2)}, clone);
    case SYS_fcntl: return may_control_file(argument(1), argument(2));
    case SYS_ioctl: return may_control_device(argument(1));
    case SYS_prctl:
      return argument(0) == PR_SET_NAME || argument(0) == PR_GET_NAME || argument(0) == kSetVma;
    // The call may query a limit, but not set one.
    case SYS_prlimit64:
      return (argument(0) == 0 || is_of_process(argument(0), rules)) && argument(2) == 0;
    // A thread id that the code saved before it was cloned belongs to another process: musl's
    // raise() would send SIGABRT to the target's thread that the clone was made from.
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo: return is_of_process(argument(0), rules);
    case SYS_mprotect:
      return (argument(2) & PROT_WRITE) == 0 || !overlaps(rules.shared, argument(0), argument(1));
    case SYS_mremap: return !overlaps(rules.shared, argument(0), argument(1));
    case SYS_madvise: return argument(2) != MADV_REMOVE;
    default: return false;
  }
}

bool may_be_shared_futex(const RawRegisters& at, const MemoryMap& map) {
  const auto is_own = [&map](std::uint64_t address) {
    const Mapping* const mapping = map.find({address});
    return mapping != nullptr && mapping->is_private &&
           (mapping->is_anonymous() || mapping->writable);
  };
  const auto command = static_cast<int>(call_argument(at, 1)) & FUTEX_CMD_MASK;
  const bool has_two =
      command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE || command == FUTEX_WAKE_OP;
  return !is_own(call_argument(at, 0)) || (has_two && !is_own(call_argument(at, 4)));
}

}  // namespace heapattach
