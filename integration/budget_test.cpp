// HAZARDS A11: a freeze that takes too long gives up, and the target runs on.

#include <doctest/doctest.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// Copies 1 MB per second, as if the target's pages came from far away, until its time is over.
Result<void> copy_slowly(const FrozenView& view) {
  for (int kilobytes = 0; kilobytes < 100'000; ++kilobytes) {
    if (std::chrono::steady_clock::now() >= view.deadline) {
      return Error{ErrorKind::Timeout, fmt::format("copying: {} KB done", kilobytes)};
    }
    std::this_thread::sleep_for(1ms);
  }
  return {};
}

}  // namespace

TEST_CASE("a slow reader is cut off by the budget") {
  LiveTarget target("sleeper");
  for (const auto budget : {50ms, 300ms}) {
    FreezeOptions options;
    options.budget = budget;
    const auto start = std::chrono::steady_clock::now();
    const auto report = freeze_once(target.pid(), options, copy_slowly);
    const double took = in_milliseconds(std::chrono::steady_clock::now() - start);
    print_figure(fmt::format("A11: budget {} ms, released after {:.0f} ms", budget.count(), took));
    REQUIRE(!report.has_value());
    CHECK(report.error().kind == ErrorKind::Timeout);
    CHECK(took < static_cast<double>(budget.count()) + 200);
    CHECK(harm_done_to(target.pid()) == "");
    CHECK(target.ask().at("interrupted") == 0);
  }
}

TEST_CASE("work that fails or throws releases the target") {
  LiveTarget target("sleeper");
  const auto report = freeze_once(target.pid(), {}, [](const FrozenView&) -> Result<void> {
    return Error{ErrorKind::Malformed, "an inconsistent heap"};
  });
  REQUIRE(!report.has_value());
  CHECK(report.error().kind == ErrorKind::Malformed);
  CHECK(harm_done_to(target.pid()) == "");
  const auto throwing = [](const FrozenView&) -> Result<void> {
    throw std::logic_error("a bug of ours");
  };
  CHECK_THROWS_AS(static_cast<void>(freeze_once(target.pid(), {}, throwing)), std::logic_error);
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(target.ask().at("interrupted") == 0);
}

}  // namespace heapattach
