// HAZARDS A4 and A5: threads that come and go, and large numbers of them.

#include <algorithm>

#include <doctest/doctest.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

TEST_CASE("in a storm of threads, every one is frozen, and none starts during the freeze") {
  LiveTarget target("spawner");
  std::vector<double> pauses;
  int most_passes = 0;
  const int attaches = rounds(100, 1000);
  for (int round = 0; round < attaches; ++round) {
    const auto report = freeze_once(target.pid(), {}, [&](const FrozenView& view) -> Result<void> {
      CHECK(threads_not_frozen(target.pid()) == 0);
      const std::vector<pid_t> before = threads_of(target.pid());
      std::this_thread::sleep_for(2ms);
      CHECK(threads_of(target.pid()) == before);
      for (const FrozenThread& thread : view.threads) CHECK(thread.registers.has_value());
      return {};
    });
    REQUIRE_MESSAGE(report.has_value(), why(report));
    pauses.push_back(in_milliseconds(report->pause) - 2);
    most_passes = std::max(most_passes, report->passes);
  }
  const Answer answer = target.ask("stop");
  print_figure(
      fmt::format("A4: {} attaches to a storm of threads ({} made), at most {} passes, pause {}",
                  attaches, answer.at("made"), most_passes, spread_of(pauses)));
  CHECK(answer.at("made") > 0);
  CHECK(answer.at("made") == answer.at("ended"));
  CHECK(answer.at("failed") == 0);
  CHECK(most_passes <= 10);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a process that forks all the time keeps its children") {
  LiveTarget target("forker");
  for (int round = 0; round < rounds(100, 1000); ++round) {
    const auto report = freeze_once(target.pid());
    REQUIRE_MESSAGE(report.has_value(), why(report));
  }
  const Answer answer = target.ask("stop");
  CHECK(answer.at("made") > 0);
  CHECK(answer.at("wrong") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("the pause grows no faster than the number of threads") {
  struct Limit {
    int threads;
    double milliseconds;  // of HAZARDS A5, for a quiet machine
  };
  for (const Limit limit : {Limit{1, 0.1}, Limit{100, 2}, Limit{1000, 25}, Limit{4000, 60}}) {
    LiveTarget target("sleeper", {std::to_string(limit.threads - 1)});
    std::vector<double> pauses;
    for (int round = 0; round < rounds(limit.threads > 100 ? 5 : 20, 50); ++round) {
      FreezeOptions options;
      options.budget = 10s;
      const auto report = freeze_once(target.pid(), options);
      REQUIRE_MESSAGE(report.has_value(), why(report));
      CHECK(report->threads.size() == static_cast<std::size_t>(limit.threads));
      pauses.push_back(in_milliseconds(report->pause));
    }
    print_figure(fmt::format("A5: {} threads, pause {} (aim {} ms)", limit.threads,
                             spread_of(pauses), limit.milliseconds));
    CHECK(quantile(pauses, 0.5) < 20 * limit.milliseconds + 20);
    const Answer answer = target.ask();
    CHECK(answer.at("interrupted") == 0);
    CHECK(answer.at("early") == 0);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

}  // namespace heapattach
