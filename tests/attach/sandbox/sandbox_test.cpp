#include "attach/sandbox/sandbox.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "attach/base/sanitized.h"
#include "attach/sandbox/fed_worker.h"

namespace heapattach {

namespace {

SandboxLimits short_limits() {
  SandboxLimits limits;
  limits.time = std::chrono::seconds(10);
  limits.memory_bytes = 64U << 20U;
  limits.output_bytes = 1U << 20U;
  return limits;
}

void say(SandboxOutput& out, std::string_view text) {
  out.write(std::as_bytes(std::span(text)));
}

std::string text_of(const SandboxResult& result) {
  std::string text(result.output.size(), '\0');
  std::memcpy(text.data(), result.output.data(), text.size());
  return text;
}

// The errno that the worker saw.
void say_errno(SandboxOutput& out, bool failed) {
  say(out, failed ? std::to_string(errno) : "allowed");
}

bool has_filter() {
  static const bool has = [] {
    const auto result = run_sandboxed([](SandboxOutput&) {}, short_limits());
    return result && result->notes.empty();
  }();
  if (!has) MESSAGE("skipped: no system call filter can be set here");
  return has;
}

}  // namespace

TEST_CASE("the output of the work comes back") {
  const std::string text(300'000, 'x');
  const auto result = run_sandboxed([&](SandboxOutput& out) { say(out, text); }, short_limits());
  REQUIRE(result);
  CHECK(text_of(*result) == text);
}

TEST_CASE("work without output gives no bytes") {
  const auto result = run_sandboxed([](SandboxOutput&) {}, short_limits());
  REQUIRE(result);
  CHECK(result->output.empty());
}

TEST_CASE("a worker that crashes is an error that names the signal") {
  const auto result = run_sandboxed(
      [](SandboxOutput&) {
        raise(SIGKILL);
        _exit(0);
      },
      short_limits());
  if (!has_filter()) return;
  REQUIRE_FALSE(result);  // raise() calls tgkill() for the worker's own thread
  CHECK(result.error().message() == "the worker was killed by signal 9");
}

TEST_CASE("a worker that aborts is an error") {
  const auto result = run_sandboxed(
      [](SandboxOutput&) {
        std::signal(SIGABRT, SIG_DFL);
        std::abort();
      },
      short_limits());
  REQUIRE_FALSE(result);
  CHECK(result.error().message() == "the worker was killed by signal 6");
}

TEST_CASE("a worker that never ends is killed") {
  SandboxLimits limits = short_limits();
  limits.time = std::chrono::milliseconds(50);
  SUBCASE("while its pipe is open") {
    const auto result = run_sandboxed(
        [](SandboxOutput&) {
          for (volatile int i = 0; true;) i = i + 1;
        },
        limits);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::Timeout);
  }
  SUBCASE("although it closed its pipe") {
    const auto result = run_sandboxed(
        [](SandboxOutput&) {
          for (int fd = 0; fd < 100; ++fd) close(fd);
          for (volatile int i = 0; true;) i = i + 1;
        },
        limits);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::Timeout);
  }
}

TEST_CASE("a worker gets a third of what is left until the deadline") {
  SandboxLimits limits = short_limits();
  limits.deadline.at = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  const auto result = run_sandboxed(
      [](SandboxOutput&) {
        for (volatile int i = 0; true;) i = i + 1;
      },
      limits);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::Timeout);
  CHECK(result.error().message() == "the worker was killed after 100 ms");
}

TEST_CASE("no worker starts after the deadline") {
  SandboxLimits limits = short_limits();
  limits.deadline.at = std::chrono::steady_clock::now();
  const auto one = run_sandboxed([](SandboxOutput& out) { say(out, "late"); }, limits);
  REQUIRE_FALSE(one);
  CHECK(one.error().kind == ErrorKind::Timeout);
  const auto fed = FedWorker::start([](const Fd&, SandboxOutput&) {}, limits);
  REQUIRE_FALSE(fed);
  CHECK(fed.error().kind == ErrorKind::Timeout);
}

TEST_CASE("a worker that allocates without end is an error") {
  if (kIsSanitized) return;  // a sanitizer's shadow memory would exceed any limit
  const auto result = run_sandboxed(
      [](SandboxOutput&) {
        std::vector<std::string> all;
        while (true) all.emplace_back(1U << 20U, 'x');
      },
      short_limits());
  REQUIRE_FALSE(result);
  CHECK(result.error().message() == "the worker ran out of memory");
}

TEST_CASE("a worker that writes too much is an error") {
  const auto result = run_sandboxed(
      [](SandboxOutput& out) {
        while (true) say(out, "and so on ");
      },
      short_limits());
  REQUIRE_FALSE(result);
  CHECK(result.error().message() == "the worker wrote more than 1048576 bytes");
}

TEST_CASE("an exception in the worker is an error") {
  const auto result =
      run_sandboxed([](SandboxOutput&) { throw std::runtime_error("no"); }, short_limits());
  REQUIRE_FALSE(result);
  CHECK(result.error().message() == "the worker failed with an exception");
}

TEST_CASE("a worker can open nothing") {
  if (!has_filter()) return;
  std::string answer;
  SUBCASE("not a file") {
    const auto result =
        run_sandboxed([](SandboxOutput& out) { say_errno(out, open("/dev/null", O_RDONLY) < 0); },
                      short_limits());
    REQUIRE(result);
    answer = text_of(*result);
  }
  SUBCASE("not by a descriptor of a directory") {
    const auto result =
        run_sandboxed([](SandboxOutput& out) { say_errno(out, openat(AT_FDCWD, "/", O_PATH) < 0); },
                      short_limits());
    REQUIRE(result);
    answer = text_of(*result);
  }
  SUBCASE("not memory to run") {
    const auto result = run_sandboxed(
        [](SandboxOutput& out) {
          void* code =
              mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          say_errno(out, code == MAP_FAILED);
        },
        short_limits());
    REQUIRE(result);
    answer = text_of(*result);
  }
  CHECK(answer == std::to_string(EPERM));
}

TEST_CASE("a worker that tries to reach other processes or the network is killed") {
  if (!has_filter()) return;
  std::function<void(SandboxOutput&)> work;
  SUBCASE("by a program") {
    work = [](SandboxOutput&) { execl("/bin/true", "true", nullptr); };
  }
  SUBCASE("by a socket") {
    work = [](SandboxOutput&) { (void)socket(AF_INET, SOCK_STREAM, 0); };
  }
  SUBCASE("by tracing") {
    work = [](SandboxOutput&) { (void)ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); };
  }
  SUBCASE("by a signal") {
    work = [](SandboxOutput&) { (void)kill(getppid(), 0); };
  }
  SUBCASE("by a signal to a thread of another") {
    work = [parent = getpid()](SandboxOutput&) { (void)syscall(SYS_tgkill, parent, parent, 0); };
  }
  const auto result = run_sandboxed(work, short_limits());
  REQUIRE_FALSE(result);
  CHECK(result.error().message() == "the worker made a system call that it should not need");
}

TEST_CASE("a worker reads only the descriptors that it is given") {
  auto given = Fd::open("/proc/self/exe", O_RDONLY);
  auto other = Fd::open("/proc/self/exe", O_RDONLY);
  REQUIRE(given);
  REQUIRE(other);
  SandboxLimits limits = short_limits();
  limits.descriptors = {given->get()};
  const auto result = run_sandboxed(
      [&](SandboxOutput& out) {
        std::array<char, 4> magic{};
        struct stat status {};
        const bool can_stat = fstat(given->get(), &status) == 0 && status.st_size > 0;
        const bool read_given = pread(given->get(), magic.data(), 4, 0) == 4;
        const bool read_other = pread(other->get(), magic.data(), 4, 0) == 4;
        say(out, can_stat && read_given && !read_other ? "right" : "wrong");
      },
      limits);
  REQUIRE(result);
  CHECK(text_of(*result) == "right");
}

TEST_CASE("a worker has the rights of the user nobody") {
  const auto result = run_sandboxed(
      [](SandboxOutput& out) {
        say(out, setuid(0) == 0 && syscall(SYS_geteuid) == 0 ? "root" : "nobody");
      },
      short_limits());
  REQUIRE(result);
  CHECK(text_of(*result) == "nobody");
}

namespace {

// The work of a fed worker: adds up the bytes that it reads, on a second thread.
void add_bytes(const Fd& input, SandboxOutput& output) {
  std::uint64_t sum = 0;
  std::thread([&] {
    std::array<unsigned char, 4096> piece{};
    ssize_t count = 0;
    pollfd waited{input.get(), POLLIN, 0};
    if (poll(&waited, 1, 10'000) != 1) return;  // as the readers of dumps do
    while ((count = read(input.get(), piece.data(), piece.size())) > 0) {
      for (ssize_t i = 0; i < count; ++i) sum += piece[static_cast<std::size_t>(i)];
    }
  }).join();
  output.write(std::as_bytes(std::span(&sum, 1)));
}

}  // namespace

TEST_CASE("a fed worker reads what comes, with threads, and returns its result") {
  auto worker = FedWorker::start(add_bytes, short_limits());
  REQUIRE(worker);
  const std::string bytes(1'000'000, '\x03');
  REQUIRE((*worker)->feed(bytes));
  REQUIRE((*worker)->feed(bytes));
  (*worker)->end_input();
  std::uint64_t sum = 0;
  REQUIRE((*worker)->take(std::as_writable_bytes(std::span(&sum, 1))));
  CHECK(sum == 6'000'000);
  CHECK((*worker)->finish());
}

TEST_CASE("a fed worker has no rights: a program that it starts ends it") {
  if (!has_filter()) return;
  auto worker = FedWorker::start([](Fd, SandboxOutput&) { execl("/bin/true", "true", nullptr); },
                                 short_limits());
  REQUIRE(worker);
  std::byte any{};
  const auto taken = (*worker)->take({&any, 1});
  const auto failure = taken ? (*worker)->take({&any, 1}) : taken;
  REQUIRE_FALSE(failure);
  CHECK(failure.error().message() == "the worker made a system call that it should not need");
}

TEST_CASE("a fed worker that ends early is noticed by whoever feeds it, and by who waits") {
  std::signal(SIGPIPE, SIG_IGN);
  auto worker = FedWorker::start([](const Fd&, SandboxOutput&) { throw std::runtime_error("no"); },
                                 short_limits());
  REQUIRE(worker);
  const std::string bytes(3'000'000, 'x');  // more than a pipe has room for
  CHECK_FALSE((*worker)->feed(bytes));
  std::byte any{};
  CHECK_FALSE((*worker)->take({&any, 1}));
  std::signal(SIGPIPE, SIG_DFL);
}

}  // namespace heapattach
