// HAZARDS A1: work that must be done exactly once is done exactly once, under thousands of freezes.

#include <cstdlib>

#include <doctest/doctest.h>
#include <unistd.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

TEST_CASE("a pipeline loses, doubles and interrupts nothing under thousands of freezes") {
  LiveTarget target("pipeline");
  const std::vector<std::string> files = open_files(target.pid());
  const int cycles = rounds(1000, 10'000);
  std::vector<double> pauses;
  std::vector<double> whole;
  long rewound = 0;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    const auto start = std::chrono::steady_clock::now();
    const auto report = freeze_once(target.pid());
    whole.push_back(in_milliseconds(std::chrono::steady_clock::now() - start));
    REQUIRE_MESSAGE(report.has_value(), why(report));
    CHECK(report->threads.size() == 11);
    pauses.push_back(in_milliseconds(report->pause));
    rewound += report->rewound_calls;
    if (cycle % 4 == 0) ::usleep(static_cast<useconds_t>(std::rand() % 600));
  }
  const Answer answer = target.ask("stop");
  print_figure(fmt::format(
      "A1: {} freezes, pause {}, open to release {}; {} items, lost {}, doubled {}, bad {}, "
      "interrupted {} (rewound {}), cut short {}, early {} of {} naps",
      cycles, spread_of(pauses), spread_of(whole), answer.at("produced"), answer.at("lost"),
      answer.at("doubled"), answer.at("bad"), answer.at("interrupted"), rewound,
      answer.at("cut_short"), answer.at("early"), answer.at("naps")));
  CHECK(answer.at("lost") == 0);
  CHECK(answer.at("doubled") == 0);
  CHECK(answer.at("bad") == 0);
  CHECK(answer.at("interrupted") == 0);
  CHECK(answer.at("cut_short") == 0);
  CHECK(answer.at("early") == 0);
  CHECK(rewound > 0);
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(open_files(target.pid()) == files);
  // The aim is 0.5 ms on a quiet machine. This limit only finds gross mistakes, because the machine
  // may be busy.
  CHECK(quantile(pauses, 0.5) < 20);
}

}  // namespace heapattach
