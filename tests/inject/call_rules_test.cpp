#include "inject/call_rules.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "inject/call_filter.h"
#include "inject/call_names.h"
#include "inject/call_rights.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

namespace {

constexpr pid_t kSelf = 4711;
constexpr RemoteAddr kText{0x5000};
constexpr Range kShared{{0x100000}, 0x2000};

struct Call {
  long number = 0;
  std::uint64_t first = 0, second = 0, third = 0;
};

// Descriptor 3 is open for writing, 4 for reading, 5 by O_PATH to a FIFO; all others are closed.
class FakeFiles final : public CalledFiles {
 public:
  [[nodiscard]] bool is_harmless(int /*directory*/,
                                 const std::string& path,
                                 bool /*follows*/) const override {
    return path != "/tmp/fifo";
  }
  [[nodiscard]] OpenFile descriptor(int number) const override {
    return {number >= 3 && number <= 5, number == 3, number == 3 || number == 4};
  }
};

struct Clone {
  bool has_landlock = true;
  bool has_threads = true;
};

bool may(const Call& call, const char* path = "", const Clone& clone = {}) {
  FakeMemory memory;
  memory.map_zero(kText, 0x1000);
  memory.put_bytes(kText, std::as_bytes(std::span(path, std::char_traits<char>::length(path))));
  CallRules rules;
  rules.has_landlock = clone.has_landlock;
  rules.self = kSelf;
  rules.shared = {kShared};
  RawRegisters at{};
  at.orig_rax = static_cast<std::uint64_t>(call.number);
  at.rdi = call.first;
  at.rsi = call.second;
  at.rdx = call.third;
  const FakeFiles files;
  return is_allowed(rules, at, {memory, files, clone.has_threads});
}

bool is_free(long number) {
  const auto calls = free_calls();
  return std::find(calls.begin(), calls.end(), number) != calls.end();
}

}  // namespace

TEST_CASE("no call that reaches another process is free") {
  for (const char* name : {"fcntl",
                           "futex",
                           "futex_waitv",
                           "ioctl",
                           "semop",
                           "semtimedop",
                           "shmat",
                           "msgsnd",
                           "mprotect",
                           "mremap",
                           "prlimit64",
                           "setpriority",
                           "sched_setaffinity",
                           "sched_setscheduler",
                           "process_vm_writev",
                           "process_vm_readv",
                           "ptrace",
                           "kill",
                           "tkill",
                           "tgkill",
                           "rt_sigqueueinfo",
                           "rt_tgsigqueueinfo",
                           "pidfd_getfd",
                           "pidfd_open",
                           "pidfd_send_signal",
                           "process_madvise",
                           "open",
                           "openat",
                           "openat2",
                           "creat",
                           "socket",
                           "connect",
                           "execve",
                           "fork",
                           "vfork",
                           "clone",
                           "clone3",
                           "prctl",
                           "mount",
                           "setns",
                           "unshare",
                           "io_uring_setup",
                           "userfaultfd",
                           "bpf",
                           "perf_event_open",
                           "keyctl",
                           "flock",
                           "kcmp",
                           "ioprio_set",
                           "migrate_pages",
                           "move_pages",
                           "unlink",
                           "rename",
                           "truncate",
                           "chmod",
                           "splice",
                           "vmsplice",
                           "madvise",
                           "setrlimit"}) {
    const auto number = call_number(name);
    REQUIRE_MESSAGE(number.has_value(), name);
    CHECK_MESSAGE(!is_free(*number), name);
  }
}

TEST_CASE("the man page lists the free calls") {
  std::ifstream file(MAN_PAGE);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const int number : free_calls()) {
    const std::string name = call_name(number);
    const bool is_named =
        text.find(name + " ") != std::string::npos || text.find(name + "\n") != std::string::npos;
    CHECK_MESSAGE(is_named, name);
    CHECK(call_number(name) == number);
  }
  CHECK(call_name(9999) == "call 9999");
  CHECK(!call_number("no_such_call"));
}

TEST_CASE("files are opened for reading, and the function's own pipe for writing") {
  const auto at = kText.value;
  CHECK(may({SYS_openat, 0, at, O_RDONLY | O_CLOEXEC}, "/etc/hosts"));
  CHECK(may({SYS_open, at, O_RDONLY | O_DIRECTORY}, "/etc"));
  CHECK(may({SYS_openat, 0, at, O_WRONLY | O_CREAT | O_TRUNC}, "/proc/self/fd/3"));
  CHECK(!may({SYS_openat, 0, at, O_WRONLY}, "/proc/self/fd/3/x"));
  CHECK(!may({SYS_openat, 0, at, O_WRONLY}, "/proc/self/fd/4"));
  CHECK(!may({SYS_openat, 0, at, O_WRONLY}, "/proc/self/fd/6"));
  CHECK(!may({SYS_openat, 0, at, O_WRONLY}, "/proc/self/fd/-3"));
  CHECK(may({SYS_openat, 0, at, O_RDONLY}, "/proc/self/fd/4"));
  CHECK(!may({SYS_openat, 0, at, O_RDONLY}, "/dev/fd/5"));
  CHECK(!may({SYS_openat, 0, at, O_RDONLY}, "/tmp/fifo"));
  CHECK(!may({SYS_openat, 0, at, O_WRONLY}, "/proc/self/fd/"));
  CHECK(!may({SYS_openat, 0, at, O_WRONLY}, "/proc/4710/mem"));
  CHECK(!may({SYS_openat, 0, at, O_RDWR}, "/tmp/x"));
  CHECK(!may({SYS_openat, 0, at, O_RDONLY | O_CREAT}, "/tmp/x"));
  CHECK(!may({SYS_open, at, O_RDONLY | O_TRUNC}, "/tmp/x"));
  CHECK(!may({SYS_openat, 0, at, O_TMPFILE | O_RDWR}, "/tmp"));
  CHECK(!may({SYS_creat, at, 0600}, "/tmp/x"));
}

TEST_CASE("requests to a file cannot make it signal or lock") {
  CHECK(may({SYS_fcntl, 3, F_GETFL}));
  CHECK(may({SYS_fcntl, 3, F_DUPFD_CLOEXEC, 10}));
  CHECK(may({SYS_fcntl, 3, F_SETFL, O_NONBLOCK}));
  CHECK(!may({SYS_fcntl, 3, F_SETFL, O_ASYNC}));
  for (const int command : {F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLK, F_SETLKW, F_SETLEASE}) {
    CHECK(!may({SYS_fcntl, 3, static_cast<std::uint64_t>(command), 4710}));
  }
}

TEST_CASE("signals and limits apply only to itself") {
  for (const long number : {SYS_kill, SYS_tgkill, SYS_tkill, SYS_rt_sigqueueinfo}) {
    CHECK(may({number, kSelf, 6}));
    CHECK(!may({number, kSelf - 1, 6}));
    CHECK(!may({number, 0, 6}));
    CHECK(!may({number, static_cast<std::uint64_t>(-1), 6}));
  }
  CHECK(may({SYS_prlimit64, 0, 7, 0}));
  CHECK(may({SYS_prlimit64, kSelf, 7, 0}));
  CHECK(!may({SYS_prlimit64, kSelf, 7, kText.value}));
  CHECK(!may({SYS_prlimit64, kSelf - 1, 7, 0}));
  CHECK(may({SYS_prctl, PR_SET_NAME, kText.value}));
  CHECK(!may({SYS_prctl, PR_SET_PDEATHSIG, 9}));
}

TEST_CASE("memory that is still shared does not become writable") {
  CHECK(may({SYS_mprotect, 0x80000, 0x1000, PROT_READ | PROT_WRITE}));
  CHECK(may({SYS_mprotect, kShared.start.value, 0x1000, PROT_READ}));
  CHECK(!may({SYS_mprotect, kShared.start.value, 0x1000, PROT_WRITE}));
  CHECK(!may({SYS_mprotect, kShared.start.value + 0x1000, 1, PROT_READ | PROT_WRITE}));
  CHECK(!may({SYS_mprotect, 0x80000, 0x100000, PROT_READ | PROT_WRITE}));
  CHECK(!may({SYS_mprotect, 0x80000, ~std::uint64_t{0}, PROT_READ | PROT_WRITE}));
  CHECK(!may({SYS_mremap, kShared.start.value, 0}));
  CHECK(may({SYS_madvise, 0x80000, 0x1000, MADV_DONTNEED}));
  CHECK(!may({SYS_madvise, kShared.start.value, 0x1000, MADV_REMOVE}));
}

TEST_CASE("a filter fits its buffer, and jumps only forward") {
  CallRules rules;
  rules.beyond = {SYS_semop, SYS_socket};
  const auto filter = call_filter(rules).code();
  CHECK(filter.size() * sizeof(sock_filter) < 4000);
}

TEST_CASE("without Landlock, a clone with several threads opens nothing for writing") {
  const Call call{SYS_openat, 0, kText.value, O_WRONLY};
  const char* const own = "/proc/self/fd/3";
  CHECK(may(call, own, {.has_landlock = true, .has_threads = true}));
  CHECK(may(call, own, {.has_landlock = false, .has_threads = false}));
  CHECK(!may(call, own, {.has_landlock = false, .has_threads = true}));
}

TEST_CASE("an allowed call lifts only the protection that it needs") {
  constexpr std::uint64_t kMakeSocket = 1U << 9;
  const auto rights = [](std::vector<int> calls) { return rights_for(calls); };
  CHECK(rights({SYS_socket, SYS_connect, SYS_semop}).files == 0);
  CHECK(rights({SYS_socket, SYS_connect}).network == 2);
  CHECK(rights({SYS_semop}).scoped == 0);
  CHECK(rights({SYS_bind}).files == kMakeSocket);
  CHECK(rights({SYS_bind, SYS_openat}).files == rights({SYS_openat}).files + kMakeSocket);
  CHECK(rights({SYS_kill}).scoped == 2);
}

TEST_CASE("a futex is the clone's own in anonymous memory, or where it may write") {
  Mapping anonymous{.range = {{0x1000}, 0x1000}, .readable = true, .writable = true, .path = ""};
  Mapping written = anonymous;
  written.range.start = {0x2000};
  written.inode = 5;
  Mapping seen = written;
  seen.range.start = {0x3000};
  seen.writable = false;
  Mapping shared = anonymous;
  shared.range.start = {0x4000};
  shared.is_private = false;
  const MemoryMap map({anonymous, written, seen, shared});
  const auto is_shared = [&](std::uint64_t first, int operation, std::uint64_t second = 0) {
    RawRegisters at{};
    at.rdi = first;
    at.rsi = static_cast<unsigned>(operation);
    at.r8 = second;
    return may_be_shared_futex(at, map);
  };
  CHECK(!is_shared(0x1010, FUTEX_WAIT));
  CHECK(!is_shared(0x2010, FUTEX_WAKE));
  CHECK(is_shared(0x3010, FUTEX_WAKE));
  CHECK(is_shared(0x4010, FUTEX_WAIT));
  CHECK(is_shared(0x5010, FUTEX_WAIT));
  CHECK(is_shared(0x1010, FUTEX_REQUEUE, 0x3010));
  CHECK(is_shared(0x3010, FUTEX_CMP_REQUEUE, 0x1010));
  CHECK(!is_shared(0x1010, FUTEX_WAKE_OP, 0x2010));
}

}  // namespace heapattach
