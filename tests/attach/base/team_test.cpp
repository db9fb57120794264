#include "attach/base/team.h"

#include <atomic>
#include <semaphore>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach {
namespace {

TEST_CASE("each worker of a team runs once, and gets their number") {
  unsigned told = 0;
  std::vector<std::atomic<int>> runs(3);
  run_team(3, {.begin = [&](unsigned workers) { told = workers; },
               .work = [&](unsigned worker) { ++runs[worker]; },
               .abandon = {}});
  REQUIRE(told >= 1);
  REQUIRE(told <= 3);
  for (unsigned worker = 0; worker < 3; ++worker) CHECK(runs[worker] == (worker < told ? 1 : 0));
}

TEST_CASE("workers that wait for one that fails are called off, and the failure is passed on") {
  unsigned workers = 0;
  std::counting_semaphore<> told(0);
  const TeamWork team{.begin = [&](unsigned count) { workers = count; },
                      .work =
                          [&](unsigned worker) {
                            if (worker == 0) throw std::runtime_error("out of everything");
                            told.acquire();
                          },
                      .abandon = [&] { told.release(static_cast<std::ptrdiff_t>(workers)); }};
  CHECK_THROWS_WITH(run_team(4, team), "out of everything");
}

TEST_CASE("no worker runs if begin fails") {
  std::atomic<int> runs = 0;
  const TeamWork team{.begin = [](unsigned) { throw std::runtime_error("not today"); },
                      .work = [&](unsigned) { ++runs; },
                      .abandon = {}};
  CHECK_THROWS_WITH(run_team(4, team), "not today");
  CHECK(runs == 0);
}

}  // namespace
}  // namespace heapattach
