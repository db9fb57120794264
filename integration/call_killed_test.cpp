// HAZARDS B1, B2, B4 for --call, in a clone and in place, and --inject: the tool dies at each call
// with which it touches another process, and at random moments. The target continues, and no clone
// survives.

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/death_sweep.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

constexpr int kKilled = 42;  // the exit status of kill_at if it has killed the tool

std::vector<std::string> call_of(const LiveTarget& target, const std::string& state) {
  return {tool_path(),
          "--call",
          "getpid()",
          "--thread",
          std::to_string(target.greeting().at(state)),
          std::to_string(target.pid())};
}

// access(path, mode) is not a dump routine, but is called like one.
std::vector<std::string> inject_of(const LiveTarget& target, const std::string& state) {
  return {tool_path(), "--inject",  "--routine",
          "access",    "--thread",  std::to_string(target.greeting().at(state)),
          "--keep",    "/dev/null", std::to_string(target.pid())};
}

// Calls a function that changes errno, the mask and the vector registers.
std::vector<std::string> in_place_of(const LiveTarget& target, const std::string& state) {
  return {tool_path(),
          "--in-place",
          "--call",
          "disturb(1, 2, \"three\")",
          "--thread",
          std::to_string(target.greeting().at(state)),
          std::to_string(target.pid())};
}

using Command = std::vector<std::string> (*)(const LiveTarget&, const std::string&);

// Kills the tool at step `first` and at every `apart`-th step after it. Returns how often it died.
int die_at_steps(
    DeathSweep& sweep, Command command, const std::string& state, int first, int apart) {
  int deaths = 0;
  for (int step = first;; step += apart) {
    LiveTarget& target = sweep.fresh();
    const std::string when = fmt::format("death at step {} with thread {}", step, state);
    std::vector<std::string> words{target_path("kill_at"), std::to_string(step)};
    const std::vector<std::string> run = command(target, state);
    words.insert(words.end(), run.begin(), run.end());
    ChildProcess tool(words);
    const auto status = tool.wait_end(60s);
    REQUIRE_MESSAGE((status.has_value() && WIFEXITED(*status)), when);
    if (WEXITSTATUS(*status) != kKilled) {
      CHECK_MESSAGE(WEXITSTATUS(*status) <= 1, when, ": ", tool.read_errors(1s));
      CHECK(step > 60);
      return deaths;
    }
    ++deaths;
    sweep.check_death(when);
    sweep.check_next_clone(when);
  }
}

}  // namespace

TEST_CASE("the tool dies at each step of a call, and the target continues") {
  DeathSweep sweep;
  int deaths = 0;
  const std::vector<std::string> states =
      is_long_run() ? std::vector<std::string>{"main", "computing", "napping", "events", "waiting"}
                    : std::vector<std::string>{"computing", "events"};
  int first = 1;
  for (const std::string& state : states) {
    // The short form uses different steps in each state.
    const int apart = rounds(24, 1);
    deaths += die_at_steps(sweep, call_of, state, first, apart);
    deaths += die_at_steps(sweep, inject_of, state, first + apart / 4, apart);
    if (apart > 1) first += apart / 2;
  }
  sweep.finish();
  print_figure(fmt::format("B1, B4: died at {} steps of calls in {} states; 0 targets harmed",
                           deaths, states.size()));
}

TEST_CASE("the tool dies at each step of a call in place, and the thread returns by itself") {
  DeathSweep sweep;
  int deaths = 0;
  const std::vector<std::string> states =
      is_long_run()
          ? std::vector<std::string>{"main", "computing", "events", "condition", "waiting"}
          : std::vector<std::string>{"computing", "events"};
  int first = rounds(5, 1);
  for (const std::string& state : states) {
    deaths += die_at_steps(sweep, in_place_of, state, first, rounds(24, 1));
    first = rounds(17, 1);
  }
  sweep.finish();
  print_figure(
      fmt::format("B1, B4: died at {} steps of calls in place in {} states; 0 targets "
                  "harmed",
                  deaths, states.size()));
}

TEST_CASE("the tool is killed at any moment of a call, and the target continues") {
  DeathSweep sweep;
  const int times = rounds(12, 1000);
  for (int i = 0; i < times; ++i) {
    LiveTarget& target = sweep.fresh();
    ChildProcess tool(i % 2 == 0 ? call_of(target, "napping") : inject_of(target, "computing"));
    ::usleep(static_cast<useconds_t>(std::rand() % 150'000));
    tool.signal(SIGKILL);
    REQUIRE(tool.wait_end(60s).has_value());
    sweep.check_death(fmt::format("kill {}", i));
  }
  sweep.finish();
  print_figure(fmt::format("B2: killed {} times at random in calls; 0 targets harmed", times));
}

TEST_CASE("the tool is killed at any moment of a call in place, and the thread continues") {
  DeathSweep sweep;
  const int times = rounds(12, 1000);
  for (int i = 0; i < times; ++i) {
    LiveTarget& target = sweep.fresh();
    ChildProcess tool(in_place_of(target, i % 2 == 0 ? "computing" : "events"));
    ::usleep(static_cast<useconds_t>(std::rand() % 150'000));
    tool.signal(SIGKILL);
    REQUIRE(tool.wait_end(60s).has_value());
    sweep.check_death(fmt::format("kill {}", i));
  }
  sweep.finish();
  print_figure(
      fmt::format("B2: killed {} times at random in calls in place; 0 targets harmed", times));
}

}  // namespace heapattach
