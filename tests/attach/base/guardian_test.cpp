#include "attach/base/guardian.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <thread>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/base/interrupt.h"
#include "attach/base/needed_time.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

// Empties the buffers first, so that the child does not write the test's output again.
GuardedEnd guarded(std::chrono::milliseconds time, const std::function<int()>& work) {
  std::fflush(nullptr);
  std::cout.flush();
  return run_guarded(Clock::now() + time, [&] {
    const int status = work();
    _exit(status);  // does not run the destructors of the tests
    return status;
  });
}

// Work that no deadline and no request ends.
[[noreturn]] void hang() {
  for (;;) ::pause();
}

}  // namespace

TEST_CASE("guarded work that ends gives its status") {
  const GuardedEnd end = guarded(60s, [] { return 7; });
  CHECK(end.status == 7);
  CHECK_FALSE(end.signal);
  CHECK_FALSE(end.asked_by);
  CHECK_FALSE(end.is_left);
}

TEST_CASE("guarded work that ignores its deadline is killed shortly after it") {
  const auto start = Clock::now();
  const GuardedEnd end = guarded(100ms, []() -> int { hang(); });
  CHECK_FALSE(end.status);
  CHECK_FALSE(end.signal);
  CHECK_FALSE(end.is_left);
  CHECK(Clock::now() - start >= 100ms);
  CHECK(Clock::now() - start < 30s);  // it would take 60 s if nothing ended it
}

TEST_CASE("a guarded deadline can be moved, and extended for work that must not be cut short") {
  SUBCASE("moved") {
    const GuardedEnd end = guarded(1ms, [] {
      set_guarded_deadline(Clock::now() + 60s);
      std::this_thread::sleep_for(1500ms);
      return 3;
    });
    CHECK(end.status == 3);
  }
  SUBCASE("needed") {
    const GuardedEnd end = guarded(1ms, [] {
      need_time(60s);
      std::this_thread::sleep_for(1500ms);
      return 3;
    });
    CHECK(end.status == 3);
  }
}

TEST_CASE("extra time for one step does not postpone the deadline of the next") {
  const auto start = Clock::now();
  const GuardedEnd end = guarded(100ms, []() -> int {
    { const NeededTime time(3600s); }
    hang();
  });
  CHECK_FALSE(end.status);
  CHECK(Clock::now() - start < 30s);
}

TEST_CASE("guarded work that gives up reports why, at once") {
  const GuardedEnd end = guarded(3600s, []() -> int {
    const std::jthread stuck([] { hang(); });
    give_up("it does not answer");
    return 1;
  });
  CHECK_FALSE(end.status);
  CHECK(end.why == "it does not answer");
}

TEST_CASE("the signal that kills guarded work is reported") {
  const GuardedEnd end = guarded(60s, []() -> int {
    ::raise(SIGKILL);
    return 1;
  });
  CHECK_FALSE(end.status);
  CHECK(end.signal == SIGKILL);
}

TEST_CASE("a request to exit is forwarded, and kills work that ignores it") {
  const auto asks = [] { ::kill(guardian_pid(), SIGTERM); };
  SUBCASE("it is heeded") {
    const GuardedEnd end = guarded(3600s, [&] {
      asks();
      while (!interrupted_by()) ::usleep(1000);
      return *interrupted_by() == SIGTERM ? 5 : 6;
    });
    CHECK(end.status == 5);
    CHECK(end.asked_by == SIGTERM);
  }
  SUBCASE("it is not") {
    const GuardedEnd end = guarded(3600s, [&]() -> int {
      asks();
      hang();
    });
    CHECK_FALSE(end.status);
    CHECK(end.asked_by == SIGTERM);
  }
  SUBCASE("a second one ends it at once") {
    const GuardedEnd end = guarded(3600s, [&]() -> int {
      need_time(3600s);
      asks();
      while (!interrupted_by()) ::usleep(1000);
      asks();
      hang();
    });
    CHECK_FALSE(end.status);
    CHECK(end.signal == SIGTERM);
  }
  SUBCASE("a second one waits until the work has restored what it changed") {
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    auto& is_restored = *new (page) std::atomic<bool>(false);
    const GuardedEnd end = guarded(3600s, [&]() -> int {
      {
        const UntilRestored debt;
        asks();
        while (!interrupted_by()) ::usleep(1000);
        asks();
        std::this_thread::sleep_for(300ms);  // the guardian would have ended it long ago
        is_restored = true;
      }
      hang();
    });
    CHECK_FALSE(end.status);
    CHECK(end.signal == SIGTERM);
    CHECK(is_restored);
    ::munmap(page, 4096);
  }
  SUBCASE("one that does not come from the guardian is not heeded") {
    const GuardedEnd end = guarded(60s, [&] {
      ::raise(SIGTERM);
      return interrupted_by() ? 6 : 5;
    });
    CHECK(end.status == 5);
  }
}

TEST_CASE("without a guardian all of this has no effect") {
  CHECK(guardian_pid() == 0);
  set_guarded_deadline(Clock::now());
  need_time(1s);
  give_up("no reason");
}

}  // namespace heapattach
