#include "report/cli/leak_code.h"

#include <doctest/doctest.h>

#include "symbols/malloc/source.h"
#include "tests/support/small_snapshot.h"

namespace heapattach {

namespace {

using trace::EventKind;

// A trace with two functions, each with its own stack.
trace::Trace two_places() {
  trace::Trace trace;
  trace.header.every = 1;
  trace.frames = {{.function = "make_list", .file = "app.c", .line = 7},
                  {.function = "make_text", .file = "app.c", .line = 9}};
  trace.stacks = {{.frames = {0}}, {.frames = {1}}};
  return trace;
}

void allocate(trace::Trace& trace,
              std::uint64_t address,
              std::uint64_t bytes,
              std::uint32_t stack) {
  trace.events.add({.kind = EventKind::Alloc,
                    .time_ns = trace.events.size(),
                    .address = address,
                    .bytes = bytes,
                    .stack = stack});
}

// Three leaked objects: a list at 0x1000, which references a text at 0x1010, and a text at 0x1020.
SnapshotBuilder leaked_heap() {
  SnapshotBuilder build;
  for (const char* name : {"List", "Text"}) build.type(name);
  build.snapshot.heaps.emplace_back().name = glibc::kHeapKind.name;
  build.object(0x1000, 0, 16, {{0, 1}}).is_reachable = 0;
  build.object(0x1010, 1, 16, {}).is_reachable = 0;
  build.object(0x1020, 1, 16, {}).is_reachable = 0;
  return build;
}

std::vector<LeakCode> code_of(const snapshot::Snapshot& heap, trace::Trace& trace) {
  analyze::LeakOptions what;
  what.with_members = true;
  const analyze::Leaks found = analyze::find_leaks(heap, what);
  keep_leaked(trace, heap, found.members);
  return code_of_leaks(trace, heap, found, {});
}

}  // namespace

TEST_CASE("each group of leaks has the code that allocated its roots") {
  const SnapshotBuilder heap = leaked_heap();
  trace::Trace trace = two_places();
  allocate(trace, 0x1000, 16, 0);
  allocate(trace, 0x1010, 8, 1);
  allocate(trace, 0x1020, 8, 1);
  allocate(trace, 0x5000, 8, 1);  // still in use
  const auto code = code_of(heap.snapshot, trace);
  REQUIRE(code.size() == 2);
  REQUIRE(code[0].sites.size() == 1);
  CHECK(code[0].is_of_roots);
  CHECK(code[0].sites[0].samples == 1);
  CHECK(code[0].sites[0].frames == std::vector<std::string>{"make_list (app.c:7)"});
  CHECK(code[1].sites.at(0).frames == std::vector<std::string>{"make_text (app.c:9)"});
  CHECK(code[1].sites.at(0).samples == 1);
  CHECK(trace.events.size() == 3);
  CHECK(trace.types.size() == 2);
}

TEST_CASE("a leak without a sample has no code, or that of what it references") {
  const SnapshotBuilder heap = leaked_heap();
  trace::Trace trace = two_places();
  SUBCASE("nothing was sampled") {
    CHECK(code_of(heap.snapshot, trace)[0].sites.empty());
  }
  SUBCASE("what it references was") {
    allocate(trace, 0x1010, 8, 1);
    const auto code = code_of(heap.snapshot, trace);
    CHECK_FALSE(code[0].is_of_roots);
    CHECK(code[0].sites.at(0).frames == std::vector<std::string>{"make_text (app.c:9)"});
    CHECK(code[1].sites.empty());
  }
  SUBCASE("the sample was freed, and other code has the memory now") {
    allocate(trace, 0x1000, 16, 0);
    trace.events.add({.kind = EventKind::Free, .time_ns = 9, .address = 0x1000});
    CHECK(code_of(heap.snapshot, trace)[0].sites.empty());
  }
  SUBCASE("the sample is larger than the block, so it is of something else") {
    allocate(trace, 0x1000, 17, 0);
    CHECK(code_of(heap.snapshot, trace)[0].sites.empty());
  }
}

}  // namespace heapattach
