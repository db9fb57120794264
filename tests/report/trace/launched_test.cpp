#include "report/trace/launched.h"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "attach/process/thread_state.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const std::vector<std::string> kSleeper{"sleep", "1000"};

char state_of(pid_t pid) {
  const auto file = Fd::open(fmt::format("/proc/{}/stat", pid), 0);
  if (!file) return '?';
  return parse_thread_state(read_all(*file, 4096).value()).value().state;
}

TEST_CASE("a program that uses no collector is not stopped most of the time") {
  auto program = trace::Launched::start(kSleeper).value();
  const auto begin = Clock::now();
  Clock::duration stopped{};
  const auto done = program.run_until(
      [&]() -> Result<void> {
        const auto from = Clock::now();
        CHECK(state_of(program.pid()) == 'T');
        std::this_thread::sleep_for(150ms);
        stopped += Clock::now() - from;
        return Error{ErrorKind::Unsupported, "no collector"};
      },
      5s);
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::Unsupported);
  // The program is stopped for one second in all, and then for a fifth of the time.
  CHECK(stopped < (Clock::now() - begin) / 2);
  CHECK(state_of(program.pid()) != 'T');
  kill(program.pid(), SIGKILL);
}

TEST_CASE("a stopped program runs on when a signal of the terminal ends what started it") {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t tool = fork();
  if (tool == 0) {
    setpgid(0, 0);
    // The program inherits that the signal is ignored, as a server may.
    std::signal(SIGQUIT, SIG_IGN);
    auto program = trace::Launched::start(kSleeper);
    std::signal(SIGQUIT, SIG_DFL);
    if (!program) _exit(1);
    static_cast<void>(program->run_until(
        [&]() -> Result<void> {
          const pid_t pid = program->pid();
          static_cast<void>(!write(pipe_ends[1], &pid, sizeof pid));
          raise(SIGSTOP);  // until the test has seen that the program is stopped
          return {};
        },
        1min));
    _exit(0);
  }
  pid_t program = 0;
  REQUIRE(::read(pipe_ends[0], &program, sizeof program) == sizeof program);
  int status = 0;
  REQUIRE(waitpid(tool, &status, WUNTRACED) == tool);
  REQUIRE(WIFSTOPPED(status));
  CHECK(state_of(program) == 'T');
  kill(-tool, SIGQUIT);
  kill(tool, SIGKILL);
  REQUIRE(waitpid(tool, &status, 0) == tool);
  const auto until = Clock::now() + 30s;
  while (state_of(program) == 'T' && Clock::now() < until) std::this_thread::sleep_for(1ms);
  CHECK(state_of(program) != 'T');
  kill(program, SIGKILL);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace

}  // namespace heapattach
