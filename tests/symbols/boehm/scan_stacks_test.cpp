#include <doctest/doctest.h>

#include "symbols/boehm/thread_records.h"

// The tests of scan_stacks().

namespace heapattach::boehm {

using namespace heap;
namespace {

constexpr RemoteAddr kData{0x6000'0000'0000};
constexpr RemoteAddr kStack{0x7000'0000'0000};

RootRange stack_of(pid_t thread, RemoteAddr start, std::uint64_t bytes) {
  return {.kind = RootKind::Stack, .range = {start, bytes}, .thread = thread};
}

std::vector<Range> ranges_of(const ScannedStacks& stacks) {
  std::vector<Range> ranges;
  for (const RootRange& root : stacks.ranges) ranges.push_back(root.range);
  return ranges;
}

TEST_CASE("stacks end where the collector's records say, and unknown stacks are dropped") {
  const RootRange first = stack_of(1, kStack, 0x1000);
  const RootRange global{.range = {kData, 64}};
  const std::vector<RootRange> all = {global, first, stack_of(2, kStack + 0x2000, 0x1000),
                                      stack_of(3, kStack + 0x4000, 4096)};
  const std::vector<ThreadRecord> records = {
      {.thread = 1, .at = kData}, {.thread = 2, .at = kData, .stack_end = kStack + 0x2800}};

  const auto kept = scan_stacks(all, records, kStack + 0x100, 1);
  const std::vector<Range> expected = {global.range, {kStack, 0x100}, {kStack + 0x2000, 0x800}};
  CHECK(ranges_of(kept) == expected);
  CHECK(kept.with_registers == std::vector<pid_t>{1, 2});

  SUBCASE("without any record all stay") {
    CHECK(scan_stacks(all, {}, {}, 1).ranges.size() == 4);
  }
  SUBCASE("the first thread's record holds an old stack pointer, not its end") {
    const std::vector<ThreadRecord> old = {
        {.thread = 1, .at = kData, .stack_end = kStack + 0x80},
        {.thread = 2, .at = kData, .stack_end = kStack + 0x2080}};
    CHECK(ranges_of(scan_stacks(all, old, kStack + 0x100, 1))[1] == Range{kStack, 0x100});
    CHECK(ranges_of(scan_stacks(all, old, {}, 1))[1] == first.range);
    // A thread other than the first initialised the collector.
    const auto other = ranges_of(scan_stacks(all, old, kStack + 0x2100, 1));
    CHECK(other[1] == first.range);
    CHECK(other[2] == Range{kStack + 0x2000, 0x100});
  }
  SUBCASE("an end on another stack is ignored") {
    CHECK(ranges_of(scan_stacks(all, records, RemoteAddr{5}, 1))[1] == first.range);
  }
}

TEST_CASE("a thread with a record whose end is elsewhere is a problem, and its stack stays whole") {
  const std::vector<RootRange> all = {stack_of(2, kStack, 0x1000)};
  ThreadRecord record{
      .thread = 2, .at = kData, .stack_end = kStack + 0x9000, .is_understood = true};
  auto found = scan_stacks(all, {&record, 1}, {}, 1);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].find("thread 2") != std::string::npos);
  CHECK(ranges_of(found) == std::vector<Range>{all[0].range});

  SUBCASE("unless it is about to continue with another fiber") {
    const RootRange fiber{.kind = RootKind::Fiber, .range = {kStack + 0x8000, 0x1000}};
    CHECK(scan_stacks(std::vector{all[0], fiber}, {&record, 1}, {}, 1).problems.empty());
  }
  SUBCASE("or on the alternate stack that it registered") {
    record.alternate_stack = {kStack - 0x100, 0x900};
    found = scan_stacks(all, {&record, 1}, {}, 1);
    CHECK(found.problems.empty());
    CHECK(ranges_of(found) == std::vector<Range>{{kStack, 0x800}});
  }
}

TEST_CASE("the stack of a running fiber ends where the fiber's does, whatever the record says") {
  RootRange first = stack_of(1, kStack, 0x800);
  first.fiber = 0x7fff'0000'1000;
  RootRange second = stack_of(2, kStack + 0x2000, 0x800);
  second.kind = RootKind::Fiber;
  second.fiber = 0x7fff'0000'2000;
  std::vector<ThreadRecord> records = {
      {.thread = 1, .at = kData, .is_understood = true, .has_own_end = false},
      {.thread = 2, .at = kData, .stack_end = kStack + 0x9000, .is_understood = true}};
  const std::vector<RootRange> all = {first, second};
  const auto found = scan_stacks(all, records, kStack + 0x9000, 1);
  CHECK(found.problems.empty());
  CHECK(ranges_of(found) == std::vector<Range>{first.range, second.range});
  CHECK(found.ranges[1].kind == RootKind::Fiber);
  CHECK(found.with_registers == std::vector<pid_t>{1, 2});

  SUBCASE("or begins above its blocking call") {
    records[1].blocked_at = kStack + 0x2300;
    const auto blocked = scan_stacks(all, records, kStack + 0x9000, 1);
    CHECK(ranges_of(blocked)[1] == Range{kStack + 0x2300, 0x500});
    CHECK(blocked.with_registers == std::vector<pid_t>{1});
  }
  SUBCASE("also without a record") {
    CHECK(ranges_of(scan_stacks(all, {}, {}, 1)) == ranges_of(found));
  }
}

TEST_CASE("a blocked thread's stack is scanned only above its blocking call") {
  const std::vector<RootRange> all = {stack_of(2, kStack, 0x1000)};
  const ThreadRecord record{.thread = 2,
                            .at = kData,
                            .stack_end = kStack + 0xf00,
                            .is_understood = true,
                            .blocked_at = kStack + 0x200};
  const auto found = scan_stacks(all, {&record, 1}, {}, 1);
  CHECK(ranges_of(found) == std::vector<Range>{{kStack + 0x200, 0xd00}});
  CHECK(found.with_registers.empty());
}

TEST_CASE("frames between an active section and the blocking call around it are not scanned") {
  const std::vector<RootRange> all = {stack_of(2, kStack, 0x1000)};
  const ThreadRecord record{
      .thread = 2,
      .at = kData,
      .stack_end = kStack + 0xf00,
      .is_understood = true,
      .sections = {{kStack + 0x100, kStack + 0x300}, {kStack + 0x400, kStack + 0x800}}};
  const std::vector<Range> expected = {
      {kStack, 0x100}, {kStack + 0x300, 0x100}, {kStack + 0x800, 0x700}};
  const auto found = scan_stacks(all, {&record, 1}, {}, 1);
  CHECK(ranges_of(found) == expected);
  CHECK(found.with_registers == std::vector<pid_t>{2});
}

}  // namespace
}  // namespace heapattach::boehm
