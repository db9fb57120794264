#include "report/trace/sites.h"

#include <doctest/doctest.h>

#include "tests/support/small_trace.h"

namespace heapattach::trace {

namespace {

using Texts = std::vector<std::string>;

SiteTable table_by(GroupBy by) {
  SiteChoice choice;
  choice.by = by;
  return make_site_table(small_trace(), choice);
}

TEST_CASE("a row is a stack of the program's own code and a type, the most bytes first") {
  const SiteTable table = table_by(GroupBy::Stack);
  REQUIRE(table.rows.size() == 4);
  CHECK(table.rows[0].frames == Texts{"Shop#login (shop.cr:12)", "(truncated)"});
  CHECK(table.rows[0].type == "(unknown)");
  CHECK(table.rows[0].amounts.bytes == 200);
  // Only the runtime allocates here, so its frames are shown.
  CHECK(table.rows[1].frames == Texts{"GC_malloc_kind", "GC::malloc (gc.cr:3)"});
  CHECK(table.rows[2].frames == Texts{"Shop#login (shop.cr:12)", "Shop#serve (shop.cr:40)"});
  CHECK(table.rows[2].type == "Session");
  CHECK(table.rows[2].amounts.allocations == 2);
  CHECK(table.rows[2].amounts.in_use_bytes == 48);
  CHECK(table.rows[3].type == "String");
  CHECK(table.total.allocations == 5);
  CHECK(table.total.bytes == 428);
  CHECK(table.total.in_use_objects == 2);
  CHECK(table.total.in_use_bytes == 248);
  CHECK(table.per_second(table.total.bytes) == 107);
  CHECK(table.collectors_bytes() == 500);
  CHECK_FALSE(table.is_estimate());
}

TEST_CASE("a table of very many stacks ends with the deadline, and says what it lacks") {
  constexpr std::uint32_t kStacks = 20'000;
  Trace trace = small_trace();
  const auto first = static_cast<std::uint32_t>(trace.stacks.size());
  const auto frames = static_cast<std::uint32_t>(trace.frames.size());
  for (std::uint32_t i = 0; i < kStacks; ++i) {
    trace.frames.push_back({.function = "f" + std::to_string(i)});
    trace.stacks.push_back({.frames = {frames + i, frames}});
    trace.events.add({.address = std::uint64_t{0x10000} + 16 * i, .bytes = 8, .stack = first + i});
  }
  SiteChoice choice;
  choice.top = 3;
  const SiteTable whole = make_site_table(trace, choice);
  CHECK_FALSE(whole.is_cut);
  CHECK(whole.header.complete);
  CHECK(whole.left_out_rows == kStacks + 1);
  Deadline passed;
  passed.at = std::chrono::steady_clock::now();
  SiteTable cut;
  SUBCASE("while the events are read") {
    cut = make_site_table(trace, choice, passed);
  }
  SUBCASE("while the stacks are read") {
    cut = make_site_table(trace, choice, {count_cells(trace, {}), false}, passed);
  }
  CHECK(cut.is_cut);
  CHECK_FALSE(cut.header.complete);
  CHECK(cut.header.reason.starts_with("the deadline passed: "));
  CHECK(cut.total.samples < whole.total.samples);
}

TEST_CASE("rows with the same amounts are in the order of their names") {
  Trace trace;
  for (const char* const name : {"c", "a", "b"}) {
    const auto number = static_cast<std::uint32_t>(trace.frames.size());
    trace.frames.push_back({.function = name});
    trace.stacks.push_back({.frames = {number}});
    trace.events.add({.address = 16 * (number + 1), .bytes = 8, .stack = number});
  }
  const SiteTable table = make_site_table(trace, {});
  REQUIRE(table.rows.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(table.rows[i].frames == Texts{std::string(1, "abc"[i])});
}

TEST_CASE("rows by function put its lines together, rows by line do not") {
  const SiteTable functions = table_by(GroupBy::Function);
  REQUIRE(functions.rows.size() == 2);
  CHECK(functions.rows[0].frames == Texts{"Shop#login"});
  CHECK(functions.rows[0].amounts.bytes == 328);
  CHECK(functions.rows[0].type == "(unknown)");
  CHECK(functions.rows[0].more_types == 2);
  CHECK(functions.rows[1].frames == Texts{"GC_malloc_kind"});

  const SiteTable lines = table_by(GroupBy::Line);
  REQUIRE(lines.rows.size() == 3);
  CHECK(lines.rows[0].frames == Texts{"Shop#login (shop.cr:12)"});
  CHECK(lines.rows[0].amounts.bytes == 296);
  CHECK(lines.rows[2].frames == Texts{"Shop#login (shop.cr:15)"});
}

TEST_CASE("rows by type, thread and fiber have the place with the most bytes") {
  const SiteTable types = table_by(GroupBy::Type);
  REQUIRE(types.rows.size() == 3);
  CHECK(types.rows[0].type == "(unknown)");
  CHECK(types.rows[0].amounts.bytes == 300);
  CHECK(types.rows[0].frames == Texts{"Shop#login (shop.cr:12)", "(truncated)"});
  CHECK(types.rows[0].more_places == 1);
  CHECK(types.rows[1].type == "Session");

  const SiteTable threads = table_by(GroupBy::Thread);
  REQUIRE(threads.rows.size() == 2);
  CHECK(threads.rows[0].name == "thread 4712 worker");
  CHECK(threads.rows[0].amounts.bytes == 300);
  CHECK(threads.rows[1].name == "thread 4711 shop");
  CHECK(threads.rows[1].more_types == 1);

  const SiteTable fibers = table_by(GroupBy::Fiber);
  REQUIRE(fibers.rows.size() == 2);
  CHECK(fibers.rows[0].name == "(unknown)");
  CHECK(fibers.rows[1].name == "fiber main 0x7f1000");
}

TEST_CASE("rows are chosen by type, bytes, count and number, and the rest is counted") {
  SiteChoice choice;
  SUBCASE("a type that was not chosen is not in the total") {
    choice.types = {"S*"};
    const SiteTable table = make_site_table(small_trace(), choice);
    CHECK(table.rows.size() == 2);
    CHECK(table.total.bytes == 128);
    CHECK_FALSE(table.is_of_all_types);
  }
  SUBCASE("few bytes") {
    choice.min_bytes = 100;
    const SiteTable table = make_site_table(small_trace(), choice);
    CHECK(table.rows.size() == 2);
    CHECK(table.left_out_rows == 2);
    CHECK(table.left_out.bytes == 128);
    CHECK(table.total.bytes == 428);
  }
  SUBCASE("few allocations") {
    choice.min_count = 2;
    const SiteTable table = make_site_table(small_trace(), choice);
    REQUIRE(table.rows.size() == 1);
    CHECK(table.rows[0].type == "Session");
    CHECK(table.left_out_rows == 3);
  }
  SUBCASE("the first of another order") {
    choice.top = 1;
    choice.sort = SortBy::Count;
    CHECK(make_site_table(small_trace(), choice).rows[0].type == "Session");
    choice.sort = SortBy::InUse;
    CHECK(make_site_table(small_trace(), choice).rows[0].amounts.in_use_bytes == 200);
    CHECK(make_site_table(small_trace(), choice).left_out.bytes == 228);
  }
}

TEST_CASE("frames are shown in the chosen form") {
  const auto first_frames = [](const FrameChoice& frames) {
    SiteChoice choice;
    choice.types = {"Session"};
    choice.frames = frames;
    return make_site_table(small_trace(), choice).rows.at(0).frames;
  };
  CHECK(first_frames({FrameText::None}).empty());
  CHECK(first_frames({FrameText::Address}) == Texts{"0x512", "0x540"});
  CHECK(first_frames({FrameText::Name}) == Texts{"Shop#login", "Shop#serve"});
  CHECK(first_frames({FrameText::Full, false, 1}) == Texts{"Shop#login (shop.cr:12)"});
  CHECK(first_frames({FrameText::Name, true}) ==
        Texts{"GC_malloc_kind", "GC::malloc", "Shop#login", "Shop#serve", "main"});
}

TEST_CASE("a frame without a function has the name of its file, or its address") {
  CHECK(frame_text({.object = "libz.so.1", .address = 0x10}, FrameText::Name) == "(libz.so.1)");
  CHECK(frame_text({.address = 0x10}, FrameText::Full) == "0x10");
  CHECK(frame_text({}, FrameText::Address) == "(unknown)");
}

}  // namespace

}  // namespace heapattach::trace
