#include "report/trace/cells.h"

#include <cmath>
#include <map>
#include <optional>

#include <doctest/doctest.h>

#include "report/trace/live_samples.h"
#include "tests/support/small_trace.h"

namespace heapattach::trace {

namespace {

TEST_CASE("cells have the sums of a trace, and how much of it is in use") {
  const auto cells = count_cells(small_trace(), {true, true});
  REQUIRE(cells.size() == 4);
  struct Expected {
    std::uint32_t stack, type;
    double allocations, bytes, in_use_objects, in_use_bytes;
  };
  const Expected expected[] = {{0, 0, 2, 96, 1, 48},
                               {1, 1, 1, 32, 0, 0},
                               {2, kNone, 1, 100, 0, 0},
                               {3, kNone, 1, 200, 1, 200}};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CAPTURE(i);
    CHECK(cells[i].stack == expected[i].stack);
    CHECK(cells[i].type == expected[i].type);
    CHECK(cells[i].thread == (i < 2 ? 0 : 1));
    CHECK(cells[i].fiber == (i < 2 ? 0 : kNone));
    const Amounts& amounts = cells[i].amounts;
    CHECK(amounts.samples == static_cast<std::uint64_t>(expected[i].allocations));
    CHECK(amounts.allocations == expected[i].allocations);
    CHECK(amounts.bytes == expected[i].bytes);
    CHECK(amounts.in_use_objects == expected[i].in_use_objects);
    CHECK(amounts.in_use_bytes == expected[i].in_use_bytes);
  }
}

TEST_CASE("cells can be counted at any time while events are added") {
  const Trace trace = small_trace();
  CellCounter counter(1, {});
  EventLog::Reader reader(trace.events);
  Event event;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(reader.next(event));
    counter.add(event);
  }
  CHECK(counter.cells().size() == 3);
  CHECK(counter.cells().at(1).amounts.in_use_bytes == 32);
  while (reader.next(event)) counter.add(event);
  CHECK(counter.cells().at(1).amounts.in_use_bytes == 0);
  CHECK(counter.cells().at(0).amounts.in_use_bytes == 48);
}

TEST_CASE("threads and fibers distinguish cells only on request") {
  Trace trace;
  for (const std::uint32_t actor : {0U, 1U, 1U}) {
    trace.events.add({.thread = actor, .fiber = actor, .address = 0x10, .bytes = 5});
  }
  CHECK(count_cells(trace, {}).size() == 1);
  CHECK(count_cells(trace, {.threads = true}).size() == 2);
  CHECK(count_cells(trace, {.fibers = true}).at(1).amounts.allocations == 2);
  CHECK(count_cells(trace, {.fibers = true}).at(1).thread == kNone);
}

TEST_CASE("an address that is allocated again was free in between") {
  Trace trace;
  trace.events.add({.address = 0x10, .bytes = 5});
  trace.events.add({.address = 0x10, .bytes = 7});
  const auto cells = count_cells(trace, {});
  REQUIRE(cells.size() == 1);
  CHECK(cells[0].amounts.bytes == 12);
  CHECK(cells[0].amounts.in_use_bytes == 7);
}

TEST_CASE("a sample represents as many allocations as its size implies") {
  CHECK(weight_of(48, 1) == 1);
  // One in (every / bytes) small allocations is sampled, and each very large one.
  CHECK(weight_of(16, 1 << 20) == doctest::Approx(65536.5).epsilon(1e-6));
  CHECK(weight_of(1 << 20, 1 << 20) == doctest::Approx(1 / (1 - std::exp(-1.0))));
  CHECK(weight_of(1ULL << 40, 1 << 20) == 1);
  CHECK(weight_of(0, 1024) == weight_of(1, 1024));

  Trace trace;
  trace.header.every = 1 << 20;
  trace.events.add({.address = 0x10, .bytes = 16});
  const auto cells = count_cells(trace, {});
  CHECK(cells[0].amounts.samples == 1);
  CHECK(cells[0].amounts.bytes == doctest::Approx(16 * 65536.5).epsilon(1e-6));
  trace.events.add({.kind = EventKind::Free, .address = 0x10});
  CHECK(count_cells(trace, {})[0].amounts.in_use_bytes == 0);
}

TEST_CASE("live samples are those that were added and not removed") {
  LiveSamples live;
  std::map<std::uint64_t, LiveSamples::Sample> expected;
  std::uint64_t random = 1;
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t address = (random >> 33) % 4000 * 16;
    const auto known = expected.find(address);
    std::optional<LiveSamples::Sample> before;
    if ((random >> 20 & 3) != 0) {
      const std::uint64_t bytes = i % 100 == 0 ? std::uint64_t{i} << 32 : i;
      before = live.put(address, {bytes, i});
    } else {
      before = live.remove(address);
    }
    REQUIRE(before.has_value() == (known != expected.end()));
    if (before) {
      REQUIRE(before->bytes == known->second.bytes);
      REQUIRE(before->cell == known->second.cell);
      expected.erase(known);
    }
    if ((random >> 20 & 3) != 0) {
      expected[address] = {i % 100 == 0 ? std::uint64_t{i} << 32 : i, i};
    }
  }
}

}  // namespace

}  // namespace heapattach::trace
