// HAZARDS A7: a target that its user has stopped stays stopped, and its parent notices nothing.

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

bool all_stopped(pid_t pid) {
  for (const pid_t tid : threads_of(pid)) {
    if (state_of(pid, tid) != 'T') return false;
  }
  return true;
}

// The notices about `pid` that its parent, this test, got since the last call: "stopped",
// "continued".
std::string news_of(pid_t pid, int what) {
  siginfo_t news{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &news, what | WNOHANG) != 0) return "waitid failed";
  if (news.si_pid == 0) return "";
  return news.si_code == CLD_CONTINUED ? "continued"
         : news.si_code == CLD_STOPPED ? "stopped"
                                       : "?";
}

void stop(LiveTarget& target) {
  target.child().signal(SIGSTOP);
  REQUIRE(eventually(2s, [&] { return all_stopped(target.pid()); }));
  CHECK(news_of(target.pid(), WSTOPPED) == "stopped");
}

void let_run_and_ask(LiveTarget& target) {
  target.child().signal(SIGCONT);
  CHECK(eventually(2s, [&] { return harm_done_to(target.pid()).empty(); }));
  CHECK(news_of(target.pid(), WCONTINUED) == "continued");
  // The kernel itself lets a stop interrupt epoll_wait (signal(7)), so that is not checked here.
  CHECK(target.ask().at("early") == 0);
}

}  // namespace

TEST_CASE("a stopped target is frozen and stays stopped, unknown to its parent") {
  LiveTarget target("sleeper");
  stop(target);
  for (int round = 0; round < rounds(50, 1000); ++round) {
    const auto report = freeze_once(target.pid());
    REQUIRE_MESSAGE(report.has_value(), why(report));
    CHECK(report->threads.size() == 5);
    for (const FrozenThread& thread : report->threads) CHECK(thread.registers.has_value());
    REQUIRE(eventually(1s, [&] { return all_stopped(target.pid()); }));
    CHECK(news_of(target.pid(), WCONTINUED) == "");
    CHECK(status_line(target.pid(), "TracerPid") == "0");
  }
  let_run_and_ask(target);
}

TEST_CASE("a stopped target stays stopped when the tool is killed") {
  LiveTarget target("sleeper");
  stop(target);
  for (int round = 0; round < rounds(50, 500); ++round) {
    ChildProcess tool({FREEZE_TOOL, std::to_string(target.pid()), "0", "2"});
    REQUIRE(tool.read_line(5s).has_value());
    ::usleep(static_cast<useconds_t>(std::rand() % 6000));
    tool.signal(SIGKILL);
    REQUIRE(tool.wait_end(5s).has_value());
    REQUIRE(eventually(1s, [&] { return all_stopped(target.pid()); }));
    CHECK(news_of(target.pid(), WCONTINUED) == "");
    CHECK(status_line(target.pid(), "TracerPid") == "0");
  }
  let_run_and_ask(target);
}

TEST_CASE("a target that is stopped while frozen is stopped afterwards") {
  LiveTarget target("sleeper");
  for (int round = 0; round < rounds(20, 200); ++round) {
    const auto report = freeze_once(target.pid(), {}, [&](const FrozenView&) -> Result<void> {
      target.child().signal(SIGSTOP);
      return {};
    });
    REQUIRE_MESSAGE(report.has_value(), why(report));
    REQUIRE(eventually(2s, [&] { return all_stopped(target.pid()); }));
    CHECK(news_of(target.pid(), WSTOPPED) == "stopped");
    let_run_and_ask(target);
  }
}

TEST_CASE("a stopped target that is let run while frozen runs afterwards") {
  LiveTarget target("sleeper");
  for (int round = 0; round < rounds(20, 200); ++round) {
    stop(target);
    const auto report = freeze_once(target.pid(), {}, [&](const FrozenView&) -> Result<void> {
      target.child().signal(SIGCONT);
      return {};
    });
    REQUIRE_MESSAGE(report.has_value(), why(report));
    CHECK(eventually(2s, [&] { return harm_done_to(target.pid()).empty(); }));
    CHECK(news_of(target.pid(), WCONTINUED) == "continued");
    CHECK(target.ask().at("early") == 0);
  }
}

TEST_CASE("stops and continues in quick succession win or lose, but never wedge the target") {
  LiveTarget target("sleeper");
  for (int round = 0; round < rounds(50, 1000); ++round) {
    target.child().signal(SIGSTOP);
    if (round % 2 == 0) ::usleep(static_cast<useconds_t>(std::rand() % 200));
    const auto report = freeze_once(target.pid());
    REQUIRE_MESSAGE(report.has_value(), why(report));
    REQUIRE(eventually(2s, [&] { return all_stopped(target.pid()); }));
    target.child().signal(SIGCONT);
    const auto again = freeze_once(target.pid());
    REQUIRE_MESSAGE(again.has_value(), why(again));
    REQUIRE(eventually(2s, [&] { return harm_done_to(target.pid()).empty(); }));
  }
  CHECK(target.ask().at("early") == 0);
}

}  // namespace heapattach
