#include "report/stacks/thread_load.h"

#include <doctest/doctest.h>

namespace heapattach {

using namespace std::chrono_literals;

namespace {

ThreadActivity seen_at(std::chrono::milliseconds at,
                       std::chrono::milliseconds running,
                       std::chrono::milliseconds waiting) {
  ThreadActivity seen;
  seen.seen = std::chrono::steady_clock::time_point(at);
  seen.time = {running, waiting};
  return seen;
}

}  // namespace

TEST_CASE(
    "a thread's load is what it ran and waited to run, without the time that it was stopped") {
  const auto before = seen_at(1000ms, 50ms, 10ms);
  CHECK(*stacks::load_between(before, seen_at(1200ms, 150ms, 10ms), 0ms) == 0.5);
  CHECK(*stacks::load_between(before, seen_at(1200ms, 100ms, 60ms), 0ms) == 0.5);
  CHECK(*stacks::load_between(before, seen_at(1300ms, 150ms, 10ms), 100ms) == 0.5);
  CHECK(*stacks::load_between(before, seen_at(1200ms, 350ms, 10ms), 0ms) == 1.0);
}

TEST_CASE("two observations of a thread in quick succession give no load") {
  CHECK(!stacks::load_between(seen_at(1000ms, 0ms, 0ms), seen_at(1099ms, 99ms, 0ms), 0ms));
  CHECK(!stacks::load_between(seen_at(1000ms, 0ms, 0ms), seen_at(1200ms, 99ms, 0ms), 110ms));
}

}  // namespace heapattach
