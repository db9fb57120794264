// HAZARDS B2 and B3: the tool is killed at random moments, and the target continues.

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

struct Fate {
  int held = 0;         // rounds in which a thread was stopped or traced when the signal was sent
  double release_ms{};  // the longest until all threads ran
};

// Starts the tool on `target`, sends it `number` at some moment, and checks that all threads run.
void kill_once(LiveTarget& target, int number, Fate& fate) {
  ChildProcess tool(
      {FREEZE_TOOL, std::to_string(target.pid()), "0", std::rand() % 2 == 0 ? "0" : "1"});
  if (std::rand() % 4 != 0) REQUIRE(tool.read_line(5s).has_value());
  ::usleep(static_cast<useconds_t>(std::rand() % 5000));
  if (!harm_done_to(target.pid()).empty()) ++fate.held;
  const auto start = std::chrono::steady_clock::now();
  tool.signal(number);
  const auto status = tool.wait_end(5s);
  REQUIRE_MESSAGE(status.has_value(), "the tool does not end by signal ", number);
  if (number == SIGKILL) CHECK(WTERMSIG(*status) == SIGKILL);
  REQUIRE(eventually(1s, [&] { return harm_done_to(target.pid()).empty(); }));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  fate.release_ms = std::max(fate.release_ms, took.count());
}

// Returns the number of rounds in which the tool held the target when it was killed.
int kill_often(LiveTarget& target, int number, int times) {
  Fate fate;
  for (int round = 0; round < times; ++round) kill_once(target, number, fate);
  print_figure(
      fmt::format("B2/B3: {} to the tool {} times ({} while it held the target): none left "
                  "stopped, released within {:.1f} ms",
                  ::strsignal(number), times, fate.held, fate.release_ms));
  return fate.held;
}

}  // namespace

TEST_CASE("the tool killed at any moment leaves no thread stopped and loses no work") {
  LiveTarget target("pipeline");
  CHECK(kill_often(target, SIGKILL, rounds(200, 1000)) > 0);
  const Answer answer = target.ask("stop");
  CHECK(answer.at("lost") == 0);
  CHECK(answer.at("doubled") == 0);
  CHECK(answer.at("bad") == 0);
  CHECK(answer.at("cut_short") == 0);
  CHECK(answer.at("early") == 0);
  // If the tool is killed after it has stopped a call and before it has repaired it, the call
  // returns EINTR: the kernel does that. It is at most one call per kill and thread.
  CHECK(answer.at("interrupted") <= 11 * rounds(200, 1000));
}

TEST_CASE("the tool ended by SIGINT, SIGTERM or SIGHUP releases the target") {
  LiveTarget target("pipeline");
  int held = 0;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    held += kill_often(target, number, rounds(70, 350));
  }
  CHECK(held > 0);
  const Answer answer = target.ask("stop");
  CHECK(answer.at("lost") == 0);
  CHECK(answer.at("doubled") == 0);
  CHECK(answer.at("bad") == 0);
  CHECK(answer.at("early") == 0);
}

TEST_CASE("signals to the target survive the death of the tool") {
  constexpr std::int64_t kSignals = 20'000;
  LiveTarget target("signaller");
  target.child().send_line("send " + std::to_string(kSignals));
  target.read_line();
  Fate fate;
  for (int round = 0; round < rounds(60, 500); ++round) kill_once(target, SIGTERM, fate);
  CHECK(eventually(10s, [&] { return target.ask().at("sending") == 0; }));
  CHECK(eventually(5s, [&] { return target.ask().at("distinct") == kSignals; }));
  CHECK(target.ask().at("doubled") == 0);
  CHECK(target.ask().at("damaged") == 0);
}

}  // namespace heapattach
