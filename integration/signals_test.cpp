// HAZARDS A6: no signal is lost, doubled or misdelivered.

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <unistd.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kSignals = 20'000;

// Freezes a new target again and again until all signals have been sent to it. Returns the number
// of freezes.
int freeze_between_signals() {
  LiveTarget target("signaller");
  target.child().send_line("send " + std::to_string(kSignals));
  target.read_line();
  int freezes = 0;
  Answer answer;
  do {
    for (int round = 0; round < 100; ++round) {
      const auto report = freeze_once(target.pid());
      REQUIRE_MESSAGE(report.has_value(), why(report));
      ++freezes;
      ::usleep(static_cast<useconds_t>(std::rand() % 60));
    }
    answer = target.ask();
  } while (answer.at("sending") != 0 && freezes < 100'000);
  CHECK(eventually(5s, [&] { return target.ask().at("handled") == kSignals; }));
  answer = target.ask();
  print_figure(
      fmt::format("A6: {} queued signals during {} freezes: {} handled, {} distinct, {} "
                  "doubled, {} strange",
                  kSignals, freezes, answer.at("handled"), answer.at("distinct"),
                  answer.at("doubled"), answer.at("strange")));
  CHECK(answer.at("handled") == kSignals);
  CHECK(answer.at("distinct") == kSignals);
  CHECK(answer.at("doubled") == 0);
  CHECK(answer.at("strange") == 0);
  CHECK(answer.at("damaged") == 0);
  CHECK(answer.at("sums") > 0);
  CHECK(harm_done_to(target.pid()) == "");
  return freezes;
}

}  // namespace

TEST_CASE("20,000 queued signals arrive exactly once, with freezes between them") {
  // On a busy machine all signals may be sent within the first hundred freezes.
  int freezes = 0;
  while (freezes < 300) freezes += freeze_between_signals();
}

TEST_CASE("a signal that arrives while all is frozen is handled afterwards") {
  LiveTarget target("signaller");
  for (int value = 1; value <= rounds(50, 500); ++value) {
    const auto report = freeze_once(target.pid(), {}, [&](const FrozenView&) -> Result<void> {
      sigval payload{};
      payload.sival_int = value;
      CHECK(::sigqueue(target.pid(), SIGRTMIN, payload) == 0);
      return {};
    });
    REQUIRE_MESSAGE(report.has_value(), why(report));
    CHECK(eventually(5s, [&] { return target.ask().at("distinct") == value; }));
  }
  CHECK(target.ask().at("doubled") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
