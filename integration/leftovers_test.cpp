// HAZARDS A13, B8, D6: the leftovers of killed runs are removed from a target in any situation, and
// simultaneous runs take turns.

#include "inject/leftovers.h"

#include <atomic>
#include <csignal>
#include <memory>
#include <thread>

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "inject/clone.h"
#include "inject/hold_clone.h"
#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

CloneOptions patiently() {
  CloneOptions options;
  options.freeze.budget = options.freeze.thread_deadline = 30s;
  return options;
}

bool is_dead(const Clone& clone) {
  const auto state = clone.process().thread_state(clone.process().pid());
  return !state || state->is_exiting();
}

}  // namespace

TEST_CASE("a copy that cannot be reaped does not keep others from being reaped") {
  LiveTarget target("called");
  const auto process = Process::open(target.pid());
  REQUIRE(process);
  const auto first = Clone::make(*process, patiently());
  REQUIRE(first);
  const auto second = Clone::make(*process, patiently());
  REQUIRE(second);
  const pid_t stuck = first->process().pid();
  // The kernel keeps the dead copy for its tracer: this test, which has not reaped it.
  ::kill(stuck, SIGKILL);
  REQUIRE(eventually(30s, [&] { return is_dead(*first); }));
  REQUIRE(kill_and_wait(second->process()));
  REQUIRE(children_of(target.pid()).size() == 2);
  const auto cleared = clear_leftovers(*process, {});
  CHECK(!cleared);
  CHECK(children_of(target.pid()) == std::vector{stuck});
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("one clean run of any report clears away a copy that still sleeps") {
  LiveTarget target("called");
  const std::string pid = std::to_string(target.pid());
  int asleep = 0;
  for (int step = 4; step < 60 && asleep < rounds(2, 20); ++step) {
    ChildProcess tool({CLONE_TOOL, pid, "1", std::to_string(step)});
    REQUIRE(tool.wait_end(60s).has_value());
    asleep += children_of(target.pid()).empty() ? 0 : 1;
    CHECK(run_tool({"--stacks", pid}).status == 0);
    CHECK_MESSAGE(children_of(target.pid()).empty(), "death at step ", step);
  }
  CHECK(asleep > 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a run waits until another run no longer traces the target") {
  LiveTarget target("called");
  // This thread imitates the tracing thread of a run of heapattach, and has its name.
  std::atomic<bool> is_held{false};
  std::atomic<bool> may_go{false};
  std::jthread other([&] {
    ::prctl(PR_SET_NAME, "heapattach");
    is_held = ::ptrace(PTRACE_SEIZE, target.pid(), nullptr, nullptr) == 0;
    is_held.notify_all();
    may_go.wait(false);
  });
  is_held.wait(false);
  ChildProcess tool({tool_path(), "--stacks", std::to_string(target.pid())});
  // A run that does not wait would end within this time. A run that waits is not finished then.
  CHECK(!tool.wait_end(700ms).has_value());
  may_go = true;
  may_go.notify_all();
  other.join();
  const auto status = tool.wait_end(60s);
  REQUIRE(status.has_value());
  CHECK_MESSAGE((WIFEXITED(*status) && WEXITSTATUS(*status) == 0), tool.read_errors(1s));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("at least one of several simultaneous runs on a target succeeds") {
  LiveTarget target("called");
  const std::string pid = std::to_string(target.pid());
  for (int round = 0; round < rounds(3, 30); ++round) {
    std::vector<std::unique_ptr<ChildProcess>> runs;
    for (const char* report : {"--stacks", "--summary", "--stacks", "--summary"}) {
      runs.push_back(std::make_unique<ChildProcess>(
          std::vector<std::string>{tool_path(), report, "--timeout", "60", pid}));
    }
    int done = 0;
    for (const auto& run : runs) {
      const auto status = run->wait_end(90s);
      REQUIRE(status.has_value());
      const int exit_code = WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
      // Status 7: the summary of a program without a known heap is partial.
      const bool is_done = exit_code == 0 || exit_code == 5 || exit_code == 7;
      CHECK_MESSAGE((is_done || exit_code == 9), exit_code, ": ", run->read_errors(1s));
      done += is_done ? 1 : 0;
    }
    CHECK(done >= 1);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
