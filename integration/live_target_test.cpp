#include "integration/live_target.h"

#include <csignal>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "integration/health.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

TEST_CASE("a live target answers, and can be queried again") {
  LiveTarget target("spawner");
  const Answer first = target.ask();
  const Answer second = target.ask();
  CHECK(first.at("made") >= 20);
  CHECK(second.at("made") >= first.at("made"));
  CHECK(harm_done_to(target.pid()) == "");
  const Answer last = target.ask("stop");
  CHECK(last.at("made") == last.at("ended"));
  CHECK(last.at("failed") == 0);
}

TEST_CASE("a target that ends is reaped, and its missing answer is noticed") {
  LiveTarget target("sleeper");
  CHECK(target.child().is_running());
  target.child().signal(SIGKILL);
  const auto status = target.child().wait_end(2s);
  REQUIRE(status.has_value());
  CHECK(WIFSIGNALED(*status));
  CHECK_THROWS(target.ask());
  CHECK(harm_done_to(target.pid()) != "");
}

TEST_CASE("the health check sees a stopped target") {
  LiveTarget target("sleeper");
  CHECK(threads_of(target.pid()).size() == 5);
  target.child().signal(SIGSTOP);
  CHECK(eventually(2s, [&] { return state_of(target.pid(), target.pid()) == 'T'; }));
  CHECK(harm_done_to(target.pid()).find("state T") != std::string::npos);
  target.child().signal(SIGCONT);
  CHECK(eventually(2s, [&] { return harm_done_to(target.pid()).empty(); }));
  CHECK(target.ask().at("early") == 0);
}

}  // namespace heapattach
