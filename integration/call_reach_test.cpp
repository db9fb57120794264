// HAZARDS D7: what a function in a clone could still reach: futexes in shared files, files through
// /proc/self/fd, and data that other processes are about to read.

#include <csignal>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/clone_call.h"
#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

std::string call(const LiveTarget& target,
                 const std::string& what,
                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"--call", what, std::to_string(target.pid())};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ToolRun run = run_tool(arguments);
  CHECK_MESSAGE(run.status == 0, what, ": ", run.errors);
  return run.output;
}

void check_unharmed(LiveTarget& target) {
  CHECK(children_of(target.pid()).empty());
  CHECK(harm_done_to(target.pid()) == "");
}

// Calls a function whose address the target has printed, as on a kernel without Landlock.
std::int64_t call_without_landlock(const LiveTarget& target,
                                   const std::string& function,
                                   const std::string& path) {
  std::int64_t result = -99;
  CloneOptions options;
  options.borrow = target.pid();
  const auto done = clone_once(target.pid(), options, [&](const Clone& clone) -> Result<void> {
    auto calls = HA_TRY(CloneCalls::prepare(clone.process(), {}, false));
    const RemoteAddr address{static_cast<std::uint64_t>(target.greeting().at(function))};
    const std::vector<CallArgument> arguments{path};
    const auto outcome =
        HA_TRY(calls.call(address, arguments, std::chrono::steady_clock::now() + 60s));
    CHECK(outcome.end == CallOutcome::End::Returned);
    result = static_cast<std::int64_t>(outcome.value);
    return {};
  });
  CHECK(done.has_value());
  return result;
}

// A FIFO that contains data for its reader.
class Fifo {
 public:
  Fifo() {
    REQUIRE(::mkfifo(path().c_str(), 0600) == 0);
    file_ = Fd(::open(path().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(::write(file_.get(), "x", 1) == 1);
  }
  [[nodiscard]] std::string path() const { return directory_.file("fifo"); }
  [[nodiscard]] bool is_full() const {
    char taken = 0;
    return ::read(file_.get(), &taken, 1) == 1 && ::write(file_.get(), "x", 1) == 1;
  }

 private:
  TemporaryDirectory directory_;
  Fd file_;
};

}  // namespace

TEST_CASE("a clone that is killed before the call is not taken for the target") {
  LiveTarget target("called");
  std::string said;
  const auto done = clone_once(target.pid(), {}, [&](const Clone& clone) -> Result<void> {
    REQUIRE(::kill(clone.process().pid(), SIGKILL) == 0);
    const auto calls = CloneCalls::prepare(clone.process(), {});
    REQUIRE_FALSE(calls.has_value());
    CHECK(calls.error().kind == ErrorKind::Impossible);
    said = calls.error().message();
    return {};
  });
  CHECK(done.has_value());
  CHECK_MESSAGE(said.find("the clone was killed by SIGKILL") == 0, said);
  check_unharmed(target);
}

TEST_CASE("a clone that is killed at any moment ends the call, and nothing else") {
  LiveTarget target("called");
  const RemoteAddr function{static_cast<std::uint64_t>(target.greeting().at("reopen"))};
  int before = 0;
  int after = 0;
  for (int round = 0; round < rounds(40, 4000); ++round) {
    const auto done = clone_once(target.pid(), {}, [&](const Clone& clone) -> Result<void> {
      const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, clone.process().pid(), 0)));
      REQUIRE(handle.get() >= 0);
      const std::jthread killer([&handle, delay = 25us * (round % 80)] {
        const auto until = std::chrono::steady_clock::now() + delay;
        while (std::chrono::steady_clock::now() < until) continue;
        ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
      });
      auto calls = CloneCalls::prepare(clone.process(), {});
      if (!calls) {
        ++before;
        const std::string said = calls.error().message();
        CHECK_MESSAGE(said.find("the clone was killed by SIGKILL") == 0, said);
        return {};
      }
      const std::vector<CallArgument> arguments{std::string("/")};
      const auto outcome = calls->call(function, arguments, std::chrono::steady_clock::now() + 60s);
      REQUIRE_MESSAGE(outcome.has_value(), outcome.error().message());
      if (outcome->end == CallOutcome::End::Killed) ++after;
      CHECK(
          (outcome->end == CallOutcome::End::Killed || outcome->end == CallOutcome::End::Returned));
      return {};
    });
    CHECK(done.has_value());
  }
  print_figure(fmt::format("clones killed before the call {}, during it {}", before, after));
  check_unharmed(target);
}

TEST_CASE("a function in a clone neither wakes nor requeues waiters on the target's futexes") {
  LiveTarget target("called");
  const auto is_rung = [&] { return target.ask().at("rung") == 1; };
  REQUIRE(eventually(30s, is_rung));
  CHECK(call(target, "wake_waiters()") == "0\n");
  CHECK(call(target, "take_waiters()") == "0\n");
  CHECK(eventually(30s, is_rung));
  // When a thread ends, the kernel wakes its joiner through a futex that is not private.
  CHECK(call(target, "with_a_thread(1)") == "2\n");
  check_unharmed(target);
}

TEST_CASE("a clone cannot reopen a read-only descriptor for writing") {
  LiveTarget target("called");
  const TemporaryDirectory directory;
  const std::string file = directory.file("file");
  write_text(file, "precious");
  const std::string reopen = fmt::format("reopen(\"{}\")", file);
  CHECK(call(target, reopen) == "-1\n");
  // Allowing a socket call does not weaken the protection of files.
  CHECK(call(target, reopen, {"--allow-calls", "socket,connect"}) == "-1\n");
  CHECK(call_without_landlock(target, "reopen", file) == -1);
  CHECK(read_text(file) == "precious");
  check_unharmed(target);
}

TEST_CASE("a clone takes no input from FIFOs, terminals and other processes' files") {
  LiveTarget target("called");
  const Fifo fifo;
  CHECK(call(target, fmt::format("take_from(\"{}\")", fifo.path())) == "-1\n");
  CHECK(call(target, fmt::format("take_by_name(\"{}\")", fifo.path())) == "-1\n");
  CHECK(call_without_landlock(target, "take_from", fifo.path()) == -1);
  CHECK(fifo.is_full());
  CHECK(call(target, "take_from(\"/dev/ptmx\")") == "-1\n");
  CHECK(call_without_landlock(target, "take_from", fmt::format("/proc/{}/fd/0", target.pid())) ==
        -1);
  CHECK(call_without_landlock(target, "take_from", fmt::format("/proc/{}/environ", target.pid())) ==
        -1);
  // Harmless files can still be opened.
  CHECK(call(target, "take_from(\"/dev/zero\")") == "16\n");
  CHECK(call(target, "take_from(\"/proc/self/maps\")") == "16\n");
  CHECK(call_without_landlock(target, "take_from", "/proc/self/maps") == 16);
  CHECK(call_without_landlock(target, "take_from", "/etc/../proc/version") == 16);
  CHECK(call(target, fmt::format("take_from(\"{}\")", fifo.path()), {"--allow-calls", "openat"}) ==
        "1\n");
  check_unharmed(target);
}

}  // namespace heapattach
