#include "inject/trace/blob.h"

#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inject/trace/own_blob.h"

namespace heapattach::trace {

TEST_CASE("the blob records each allocation with its result, size and caller") {
  OwnBlob blob(1);
  std::vector<void*> got;
  for (std::size_t i = 0; i < 10; ++i) got.push_back(ha_test_allocate(32 + i, 7));
  const auto records = blob.read();
  REQUIRE(records.size() == got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const RingRecord& record = records[i].record;
    CHECK(record.what == kRecordAllocated);
    CHECK(record.address == number(static_cast<char*>(got[i])));
    CHECK(record.size == 32 + i);
    CHECK(record.kind == 7);
    CHECK(record.thread == static_cast<std::uint32_t>(gettid()));
    CHECK(record.time != 0);
    CHECK(records[i].stack.size() > 0);
  }
  CHECK(records[0].record.returns_to == records[1].record.returns_to);
  CHECK(blob.control().inside == 0);
}

TEST_CASE(
    "a record has what its object began with, for objects that the collector does not clear") {
  OwnBlob blob(1);
  auto* const first = static_cast<std::uint32_t*>(ha_test_allocate(16, 0));
  // The next object is 64 bytes further on.
  constexpr std::size_t kStep = 64 / sizeof *first;
  first[kStep] = 0x1234;
  CHECK(ha_test_allocate(16, 0) == first + kStep);
  first[kStep] = 7;
  const auto records = blob.read();
  REQUIRE(records.size() == 2);
  CHECK(records[0].record.before == 0);
  CHECK(records[1].record.before == 0x1234);
}

TEST_CASE("a blob that is off, or an allocation that fails, leaves no record") {
  OwnBlob blob(1);
  test_collector.is_without_memory = true;
  CHECK(ha_test_allocate(16, 0) == nullptr);
  test_collector.is_without_memory = false;
  blob.control().enabled = 0;
  CHECK(ha_test_allocate(16, 0) != nullptr);
  CHECK(blob.read().empty());
  CHECK(blob.control().inside == 0);
}

TEST_CASE("what an entry allocates by a jump to another one counts once") {
  SUBCASE("every allocation") {
    OwnBlob blob(1);
    for (int i = 0; i < 50; ++i) {
      static_cast<void>(ha_test_lead(32, 0));
      static_cast<void>(ha_test_allocate(32, 0));
      static_cast<void>(ha_test_lead(8192, 0));
    }
    std::size_t hooks[kHooks] = {};
    for (const auto& at : blob.read()) ++hooks[at.record.hook];
    CHECK(hooks[kLeadingHook] == 100);
    CHECK(hooks[0] == 50);
  }
  SUBCASE("not what another entry allocates for the same caller") {
    OwnBlob blob(1);
    for (int i = 0; i < 200; ++i) static_cast<void>(ha_test_choose(8192, 0, i % 4 == 0 ? 1 : 0));
    std::size_t hooks[kHooks] = {};
    for (const auto& at : blob.read()) ++hooks[at.record.hook];
    CHECK(hooks[kLeadingHook] == 50);
    CHECK(hooks[1] == 150);
  }
  SUBCASE("samples") {
    constexpr std::uint64_t kEvery = 4096;
    constexpr int kMade = 300'000;
    OwnBlob blob(kEvery, std::uint64_t{64} << 20);
    for (int i = 0; i < kMade; ++i) static_cast<void>(ha_test_lead(32, 0));
    const double expected = kMade * -std::expm1(-32.0 / kEvery);
    const auto got = static_cast<double>(blob.read().size() + blob.ring().counts().dropped);
    CHECK(std::abs(got - expected) < 4 * std::sqrt(expected));
  }
}

TEST_CASE("samples are as many as the interval says, in each thread") {
  constexpr std::uint64_t kEvery = 4096;
  constexpr int kEach = 200'000;
  OwnBlob blob(kEvery, std::uint64_t{64} << 20);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < kEach; ++k) static_cast<void>(ha_test_allocate(32, 0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto counts = blob.ring().counts();
  const double expected = 3.0 * kEach * -std::expm1(-32.0 / kEvery);
  const auto got = static_cast<double>(blob.read().size() + counts.dropped);
  CHECK(std::abs(got - expected) < 4 * std::sqrt(expected));
}

TEST_CASE("a full ring drops and counts, and never waits") {
  OwnBlob blob(1, std::uint64_t{64} << 10);
  constexpr std::uint64_t kMade = 1000;
  for (std::uint64_t i = 0; i < kMade; ++i) CHECK(ha_test_allocate(16, 0) != nullptr);
  const std::uint64_t dropped = blob.ring().counts().dropped;
  CHECK(dropped > 0);
  CHECK(blob.read().size() + dropped == kMade);
  // There is room again, also for records that wrap around the end of the ring.
  for (int lap = 0; lap < 5; ++lap) {
    for (int i = 0; i < 10; ++i) static_cast<void>(ha_test_allocate(16, 0));
    CHECK(blob.read().size() == 10);
  }
  CHECK(blob.ring().counts().dropped == dropped);
}

TEST_CASE("a blob turns itself off when nothing reads, and only then") {
  OwnBlob blob(1);
  blob.control().patience = 1;
  for (int i = 0; i < 5; ++i) {
    blob.ring().beat();
    static_cast<void>(ha_test_allocate(16, 0));
  }
  CHECK(blob.control().enabled == 1);
  // The blob's clock advances a few hundred times a second.
  for (int i = 0; i < 10'000 && blob.control().enabled != 0; ++i) {
    static_cast<void>(ha_test_allocate(16, 0));
    usleep(1000);
  }
  CHECK(blob.control().enabled == 0);
  CHECK(blob.ring().counts().has_given_up);
}

TEST_CASE("a forked child is off and runs on") {
  OwnBlob blob(1);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) {
      if (ha_test_allocate(16, 0) == nullptr) _exit(2);
    }
    blob.collect();
    ha_test_release(reinterpret_cast<void*>(64));
    _exit(test_collector.event_given == kMarkEnd ? 0 : 3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(blob.read().empty());
}

TEST_CASE("an object ends when it is freed, or when a collection does not mark it") {
  OwnBlob blob(1);
  test_collector.collections = 1;
  void* const freed = ha_test_allocate(16, 0);
  void* const dead = ha_test_allocate(16, 0);
  void* const alive = ha_test_allocate(16, 0);
  static_cast<void>(blob.read());
  ha_test_released = 0;
  ha_test_release(freed);
  CHECK(ha_test_released == 1);
  test_collector.only_marked = number(static_cast<char*>(alive));
  blob.collect(0);  // another event
  test_collector.collections = 2;
  blob.collect();
  CHECK(test_collector.event_given == kMarkEnd);
  auto records = blob.read();
  REQUIRE(records.size() == 2);
  CHECK(records[0].record.what == kRecordFreed);
  CHECK(records[0].record.address == number(static_cast<char*>(freed)));
  CHECK(records[1].record.what == kRecordDead);
  CHECK(records[1].record.address == number(static_cast<char*>(dead)));
  CHECK(records[1].record.collection == 2);
  // A new object at the address of a dead one is another object.
  test_collector.only_marked = 0;
  test_collector.collections = 3;
  blob.collect();
  records = blob.read();
  REQUIRE(records.size() == 1);
  CHECK(records[0].record.address == number(static_cast<char*>(alive)));
}

TEST_CASE("after a collection that was missed, the ends of all objects are unknown") {
  OwnBlob blob(1);
  test_collector.collections = 1;
  void* const object = ha_test_allocate(16, 0);
  test_collector.only_marked = number(static_cast<char*>(object));
  blob.collect();
  static_cast<void>(blob.read());
  test_collector.collections = 3;
  blob.collect();
  const auto records = blob.read();
  REQUIRE(records.size() == 1);
  CHECK(records[0].record.what == kRecordForgotten);
  CHECK(blob.ring().counts().missed_collections == 1);
}

TEST_CASE("a ring that the target has overwritten is refused, not followed") {
  OwnBlob blob(1);
  static_cast<void>(ha_test_allocate(16, 0));
  // The first record claims to be longer than the ring.
  auto entry = blob.ring().front();
  REQUIRE(entry);
  REQUIRE(*entry);
  auto* const bytes = const_cast<std::byte*>((*entry)->stack.data()) - kRecordBytes;
  const std::uint32_t wrong = 1U << 30;
  std::memcpy(bytes + offsetof(RingRecord, bytes), &wrong, sizeof wrong);
  CHECK(!blob.ring().front());
  blob.ring().pop();
}

}  // namespace heapattach::trace
