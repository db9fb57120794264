#include "report/trace/final_mark.h"

#include <doctest/doctest.h>

#include "report/trace/cells.h"
#include "report/trace/trace_words.h"
#include "tests/support/small_snapshot.h"
#include "tests/support/small_trace.h"

namespace heapattach::trace {

namespace {

double in_use_of(const Trace& trace) {
  Amounts total;
  for (const Cell& cell : count_cells(trace, {})) total += cell.amounts;
  return total.in_use_bytes;
}

TEST_CASE("what a snapshot after a trace does not find alive is dead") {
  Trace trace = small_trace();
  REQUIRE(in_use_of(trace) == 248);  // the objects at 0x1030 and 0x4000
  SnapshotBuilder heap;
  const auto type = heap.type("Session");
  heap.object(0x1030, type, 48);
  heap.object(0x2000, type, 48);
  heap.snapshot.complete = true;
  SUBCASE("it is not there") {
    trace.header.warnings = {std::string(kNoCollection), "another"};
    CHECK(end_unmarked(trace, heap.snapshot) == 1);
    CHECK(in_use_of(trace) == 48);
    CHECK(end_unmarked(trace, heap.snapshot) == 0);
    CHECK(trace.header.warnings == std::vector<std::string>{"another"});
  }
  SUBCASE("it is there and cannot be reached") {
    heap.object(0x4000, type, 208).is_reachable = 0;
    CHECK(end_unmarked(trace, heap.snapshot) == 1);
    CHECK(in_use_of(trace) == 48);
  }
  SUBCASE("all are alive") {
    heap.object(0x4000, type, 208);
    CHECK(end_unmarked(trace, heap.snapshot) == 0);
    CHECK(in_use_of(trace) == 248);
  }
  SUBCASE("the snapshot is partial") {
    heap.snapshot.complete = false;
    CHECK(end_unmarked(trace, heap.snapshot) == 0);
    CHECK(in_use_of(trace) == 248);
  }
}

}  // namespace

}  // namespace heapattach::trace
