#include "inject/watch.h"

#include <atomic>
#include <chrono>

#include <doctest/doctest.h>

namespace heapattach {

namespace {

void wait_until(const std::atomic<int>& count, int least) {
  while (count < least) std::this_thread::yield();
}

}  // namespace

TEST_CASE("a clone is given up once, when memory runs short") {
  std::atomic<int> looks = 0;
  std::atomic<int> ends = 0;
  const auto watch = CloneWatch::start(
      [&]() -> std::optional<std::string> {
        if (++looks < 3) return std::nullopt;
        return "the group had 1 MiB left";
      },
      [&](pid_t clone) {
        CHECK(clone == 4711);
        ++ends;
      });
  REQUIRE(watch.has_value());
  CHECK(looks == 0);
  watch.value()->look_after(4711);
  wait_until(ends, 1);
  CHECK(watch.value()->given_up() == "the group had 1 MiB left");
  CHECK(looks == 3);
  CHECK(ends == 1);
}

TEST_CASE("a clone with room to spare is left alone, and the watch ends on request") {
  std::atomic<int> looks = 0;
  std::atomic<int> ends = 0;
  {
    const auto watch = CloneWatch::start(
        [&]() -> std::optional<std::string> {
          ++looks;
          return std::nullopt;
        },
        [&](pid_t) { ++ends; });
    REQUIRE(watch.has_value());
    watch.value()->look_after(4711);
    wait_until(looks, 2);
    CHECK(!watch.value()->given_up());
  }
  CHECK(ends == 0);
}

}  // namespace heapattach
