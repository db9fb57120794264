#include "integration/death_sweep.h"

#include <chrono>
#include <csignal>

#include <doctest/doctest.h>

#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// After more deaths, a target would have to wait for too many clones.
constexpr int kDeathsPerTarget = 8;

// The number of live clones among the target's children.
int living_clones(pid_t pid, std::size_t own_children) {
  int living = 0;
  for (const pid_t child : children_of(pid)) {
    const char state = state_of(child, child);
    if (state != 'Z' && state != '?' && state != 'X') ++living;
  }
  return living - static_cast<int>(own_children);
}

}  // namespace

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

void check_next_clone(LiveTarget& target, const std::string& when) {
  const auto report = clone_once(target.pid());
  CHECK_MESSAGE(report.has_value(), when, ": ", why(report));
}

LiveTarget& DeathSweep::fresh() {
  if (targets_.empty() || deaths_ == kDeathsPerTarget) {
    if (!targets_.empty()) targets_.back()->child().signal(SIGSTOP);
    targets_.push_back(std::make_unique<LiveTarget>(program_));
    code_ = traces_of(targets_.back()->pid()).code;
    signals_ = signals_of(targets_.back()->pid());
    deaths_ = 0;
  }
  return *targets_.back();
}

void DeathSweep::check_death(const std::string& when) {
  ++deaths_;
  check_unharmed(*targets_.back(), when);
  // A borrowed thread restores its mask itself, once it gets a processor.
  const pid_t pid = targets_.back()->pid();
  CHECK_MESSAGE(eventually(30s, [&] { return signals_of(pid) == signals_; }), when, ":\n",
                signals_of(pid), "instead of\n", signals_);
}

void DeathSweep::check_next_clone(const std::string& when) {
  LiveTarget& target = *targets_.back();
  heapattach::check_next_clone(target, when);
  CHECK_MESSAGE(traces_of(target.pid()).code == code_, when, ": its code has changed");
}

void DeathSweep::finish() {
  for (const auto& target : targets_) {
    target->child().signal(SIGCONT);
    CHECK(eventually(30s, [&] { return living_clones(target->pid(), 1) == 0; }));
    heapattach::check_next_clone(*target, "at the end");
    CHECK(children_of(target->pid()).size() == 1);
    check_unharmed(*target, "at the end");
    target->child().signal(SIGSTOP);
  }
}

}  // namespace heapattach
