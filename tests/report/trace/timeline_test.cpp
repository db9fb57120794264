#include "report/trace/timeline.h"

#include <numeric>

#include <doctest/doctest.h>

#include "report/trace/cells.h"
#include "tests/support/small_trace.h"

namespace heapattach::trace {

namespace {

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST_CASE("a timeline has each allocation in its step, and what is in use at the end of each") {
  Trace trace;
  trace.header.duration_ns = 40;
  trace.types = {{"A"}, {"B"}};
  trace.events.add({.time_ns = 1, .address = 0x10, .bytes = 5, .type = 0});
  trace.events.add({.time_ns = 12, .address = 0x20, .bytes = 7, .type = 1});
  trace.events.add({.kind = EventKind::Dead, .time_ns = 25, .address = 0x10, .collection = 1});
  trace.events.add({.kind = EventKind::Realloc,
                    .time_ns = 30,
                    .address = 0x30,
                    .old_address = 0x20,
                    .bytes = 9});
  trace.events.add({.time_ns = 99, .address = 0x40, .bytes = 1, .type = 0});
  const Timeline line = make_timeline(trace, {}, 4, 2);
  CHECK(line.step_ns == 10);
  REQUIRE(line.rows.size() == 2);
  CHECK(line.rows[0].type == kNone);
  CHECK(line.rows[0].bytes == std::vector<double>{0, 0, 0, 9});
  CHECK(line.rows[1].type == 1);
  CHECK(line.rows[1].bytes == std::vector<double>{0, 7, 0, 0});
  // The smallest type is in `others`. Events that were read after the end are in the last step.
  CHECK(line.others == std::vector<double>{5, 0, 0, 1});
  CHECK(line.in_use == std::vector<double>{5, 12, 7, 10});
}

TEST_CASE("a timeline adds up to the cells") {
  Trace trace = small_trace();
  trace.header.every = 64;
  Amounts total;
  for (const Cell& cell : count_cells(trace, {})) total += cell.amounts;
  const Timeline line = make_timeline(trace, {}, 7, 1);
  CHECK(sum_of(line.rows.at(0).bytes) + sum_of(line.others) == doctest::Approx(total.bytes));
  CHECK(line.in_use.back() == doctest::Approx(total.in_use_bytes));
}

TEST_CASE("a timeline has only the chosen types") {
  const Timeline line = make_timeline(small_trace(), {"Sess*"}, 4, 8);
  REQUIRE(line.rows.size() == 1);
  CHECK(sum_of(line.rows[0].bytes) == 96);
  CHECK(line.others.empty());
  CHECK(line.in_use.back() == 48);
}

TEST_CASE("a trace without a duration has no timeline") {
  Trace trace = small_trace();
  trace.header.duration_ns = 0;
  CHECK(make_timeline(trace, {}, 4, 8).rows.empty());
}

}  // namespace

}  // namespace heapattach::trace
