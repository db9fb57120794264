#include "report/collect/pause.h"

#include <doctest/doctest.h>

namespace heapattach::snapshot {

using namespace std::chrono_literals;

TEST_CASE("auto freezes if that is short, and clones if it is not") {
  PauseEstimate estimate{.freeze = 150ms, .clone = 10ms, .clone_obstacle = std::nullopt};
  CHECK(choose_hold(estimate, std::nullopt) == Hold::Freeze);
  CHECK(choose_hold(estimate, 100ms) == Hold::Clone);
  estimate.freeze = 900ms;
  CHECK(choose_hold(estimate, std::nullopt) == Hold::Clone);
  CHECK(choose_hold(estimate, 1000ms) == Hold::Freeze);
}

TEST_CASE("auto freezes if no clone is possible") {
  const PauseEstimate estimate{.freeze = 900ms, .clone = 60ms, .clone_obstacle = "no memory"};
  CHECK(choose_hold(estimate, std::nullopt) == Hold::Freeze);
}

}  // namespace heapattach::snapshot
