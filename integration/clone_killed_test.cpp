// HAZARDS B1, B2, B4: the tool dies at each step of a clone, in each state of the thread that it
// has borrowed, and at any moment; the target goes on, and no clone survives.

#include <csignal>
#include <cstdlib>
#include <memory>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

using namespace heapattach;
using namespace std::chrono_literals;

namespace {

// After so many deaths the padding of a target may be full of what they left.
constexpr int kDeathsPerTarget = 8;

void check_unharmed(LiveTarget& target, const std::string& when) {
  REQUIRE_MESSAGE(eventually(30s, [&] { return harm_done_to(target.pid()).empty(); }), when, ": ",
                  harm_done_to(target.pid()));
  const Answer before = target.ask();
  CHECK_MESSAGE(eventually(30s,
                           [&] {
                             const Answer now = target.ask();
                             return now.at("beats") > before.at("beats") &&
                                    now.at("naps") > before.at("naps") &&
                                    now.at("handled") > before.at("handled");
                           }),
                when, ": a thread does not go on");
  const Answer answer = target.ask();
  CHECK_MESSAGE(answer.at("damaged") == 0, when);
  CHECK_MESSAGE(answer.at("errno_lost") == 0, when);
  CHECK_MESSAGE(answer.at("early") == 0, when);
  CHECK_MESSAGE(answer.at("children") == 0, when);
}

// How many children of the target are clones that live.
int living_clones(pid_t pid, std::size_t own_children) {
  int living = 0;
  for (const pid_t child : children_of(pid)) {
    const char state = state_of(child, child);
    if (state != 'Z' && state != '?' && state != 'X') ++living;
  }
  return living - static_cast<int>(own_children);
}

// A whole clone after a death: it must not mind what the dead tool has left, and clears it away.
void check_next_clone(LiveTarget& target, const std::string& when) {
  const auto report = clone_once(target.pid());
  CHECK_MESSAGE(report.has_value(), when, ": ", why(report));
}

// Targets for one death after the other. One that has seen enough of them waits, stopped, until the
// clones of the dead have ended by themselves.
class Sweep {
 public:
  LiveTarget& fresh() {
    if (targets_.empty() || deaths_ == kDeathsPerTarget) {
      if (!targets_.empty()) targets_.back()->child().signal(SIGSTOP);
      targets_.push_back(std::make_unique<LiveTarget>("borrowed"));
      signals_ = signals_of(targets_.back()->pid());
      deaths_ = 0;
    }
    return *targets_.back();
  }
  void check_death(const std::string& when) {
    ++deaths_;
    check_unharmed(*targets_.back(), when);
    // A borrowed thread sets its mask again itself, once it has been given a processor.
    const pid_t pid = targets_.back()->pid();
    CHECK_MESSAGE(eventually(30s, [&] { return signals_of(pid) == signals_; }), when, ":\n",
                  signals_of(pid), "instead of\n", signals_);
  }
  // The next tool takes notice of the dead clones for the target.
  void finish() {
    for (const auto& target : targets_) {
      target->child().signal(SIGCONT);
      CHECK(eventually(30s, [&] { return living_clones(target->pid(), 1) == 0; }));
      check_next_clone(*target, "at the end");
      CHECK(children_of(target->pid()).size() == 1);
      check_unharmed(*target, "at the end");
      target->child().signal(SIGSTOP);
    }
  }

 private:
  std::vector<std::unique_ptr<LiveTarget>> targets_;
  std::string signals_;  // of the last
  int deaths_ = 0;       // that the last has seen
};

}  // namespace

TEST_CASE("the tool dies at each step of a clone, and the target goes on") {
  Sweep sweep;
  int deaths = 0;
  const std::vector<std::string> states =
      is_long_run() ? std::vector<std::string>{"main",      "computing", "napping", "events",
                                               "condition", "handler",   "waiting"}
                    : std::vector<std::string>{"computing", "napping", "events"};
  for (const std::string& state : states) {
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
        break;
      }
      ++deaths;
      sweep.check_death(when);
      check_next_clone(target, when);
    }
  }
  sweep.finish();
  print_figure(fmt::format("B1, B4: died at each of {} steps in {} states; 0 targets harmed",
                           deaths, states.size()));
}

TEST_CASE("the tool is killed at any moment of its clones, and the target goes on") {
  Sweep sweep;
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
