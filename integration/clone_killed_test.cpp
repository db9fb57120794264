// HAZARDS B1, B2, B4: the tool dies at each step of a clone, in each state of the borrowed thread,
// and at random moments. The target continues, and no clone survives.

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/death_sweep.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// Kills the tool at each step of a clone that is made with a thread in this state. Returns how
// often it died.
int die_at_each_step(DeathSweep& sweep, const std::string& state) {
  for (int step = 1;; ++step) {
    LiveTarget& target = sweep.fresh();
    const std::string when = fmt::format("death at step {} with thread {}", step, state);
    ChildProcess tool({CLONE_TOOL, std::to_string(target.pid()), "1", std::to_string(step),
                       std::to_string(target.greeting().at(state))});
    const auto status = tool.wait_end(60s);
    REQUIRE_MESSAGE(status.has_value(), when);
    if (!WIFSIGNALED(*status)) {
      CHECK(WEXITSTATUS(*status) == 0);
      CHECK(step > 20);
      return step - 1;
    }
    sweep.check_death(when);
    sweep.check_next_clone(when);
  }
}

}  // namespace

TEST_CASE("the tool dies at each step of a clone, and the target continues") {
  DeathSweep sweep;
  int deaths = 0;
  const std::vector<std::string> states =
      is_long_run() ? std::vector<std::string>{"main",      "computing", "napping", "events",
                                               "condition", "handler",   "waiting"}
                    : std::vector<std::string>{"computing", "napping", "events"};
  for (const std::string& state : states) deaths += die_at_each_step(sweep, state);
  sweep.finish();
  print_figure(fmt::format("B1, B4: died at each of {} steps in {} states; 0 targets harmed",
                           deaths, states.size()));
}

TEST_CASE("the tool dies at each step of a clone of a static program without padding") {
  DeathSweep sweep("borrowed_cramped");
  int deaths = 0;
  const std::vector<std::string> states =
      is_long_run() ? std::vector<std::string>{"main", "computing", "events", "waiting"}
                    : std::vector<std::string>{"computing"};
  for (const std::string& state : states) deaths += die_at_each_step(sweep, state);
  sweep.finish();
  print_figure(
      fmt::format("B1, B4: died at each of {} steps of clones of a static program in {} "
                  "states; 0 targets harmed",
                  deaths, states.size()));
}

TEST_CASE("the tool dies at each step of clearing up after another, and the target continues") {
  DeathSweep sweep;
  int deaths = 0;
  for (int step = 1;; step += rounds(3, 1)) {
    LiveTarget& target = sweep.fresh();
    const std::string when = fmt::format("death at step {} of clearing up", step);
    const auto die_at = [&](int where) {
      ChildProcess tool({CLONE_TOOL, std::to_string(target.pid()), "1", std::to_string(where),
                         std::to_string(target.greeting().at("computing"))});
      const auto status = tool.wait_end(60s);
      REQUIRE_MESSAGE(status.has_value(), when);
      return WIFSIGNALED(*status);
    };
    constexpr int kStubIsWritten = 5;
    REQUIRE(die_at(kStubIsWritten));
    if (!die_at(step)) break;
    ++deaths;
    sweep.check_death(when);
    sweep.check_next_clone(when);
  }
  CHECK(deaths >= rounds(8, 26));
  sweep.finish();
  print_figure(fmt::format("B1, B4: died at {} steps of clearing up; 0 targets harmed", deaths));
}

TEST_CASE("the next report of any kind cleans up after a killed tool") {
  LiveTarget target("borrowed");
  const Traces before = traces_of(target.pid());
  const std::string pid = std::to_string(target.pid());
  int stubs = 0;
  for (int step = 4; step < 40; step += rounds(9, 1)) {
    ChildProcess tool({CLONE_TOOL, pid, "1", std::to_string(step)});
    REQUIRE(tool.wait_end(60s).has_value());
    check_unharmed(target, fmt::format("death at step {}", step));
    stubs += traces_of(target.pid()).code != before.code ? 1 : 0;
    // The clone of the dead tool ends by itself.
    CHECK(eventually(30s, [&] {
      CHECK(run_tool({"--stacks", pid}).status == 0);
      return difference(before, traces_of(target.pid())).empty();
    }));
  }
  CHECK(stubs > 0);
}

TEST_CASE("the tool is killed at random moments of its clones, and the target continues") {
  DeathSweep sweep;
  const int times = rounds(60, 1000);
  for (int i = 0; i < times; ++i) {
    LiveTarget& target = sweep.fresh();
    ChildProcess tool({CLONE_TOOL, std::to_string(target.pid()), "0"});
    REQUIRE(tool.read_line(60s).has_value());
    ::usleep(static_cast<useconds_t>(std::rand() % 15'000));
    tool.signal(SIGKILL);
    REQUIRE(tool.wait_end(60s).has_value());
    sweep.check_death(fmt::format("kill {}", i));
  }
  sweep.finish();
  print_figure(fmt::format("B2: killed {} times at random; 0 targets harmed", times));
}

TEST_CASE("the tool ended by SIGINT or SIGTERM between clones leaves nothing") {
  LiveTarget target("borrowed");
  for (int i = 0; i < rounds(20, 200); ++i) {
    ChildProcess tool({CLONE_TOOL, std::to_string(target.pid()), "0"});
    REQUIRE(tool.read_line(60s).has_value());
    ::usleep(static_cast<useconds_t>(std::rand() % 15'000));
    tool.signal(i % 2 == 0 ? SIGINT : SIGTERM);
    REQUIRE(tool.wait_end(60s).has_value());
    check_unharmed(target, fmt::format("end {}", i));
    CHECK(children_of(target.pid()).size() == 1);
  }
}

}  // namespace heapattach
