#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/seen_heap.h"
#include "integration/tool.h"

// The truth test: the objects that heapattach finds alive are compared with the collector's own
// list.

namespace heapattach {

// HEAPATTACH_KNOWN_LIVE_SET and HEAPATTACH_UNSWEPT name programs to use instead of this build's,
// separated by colons (releases.sh).

namespace {

void check_equal(LiveTarget& target, const SeenHeap& seen, const std::string& what) {
  const Difference difference = compare_with_list(target, seen);
  print_figure(fmt::format("{}: {} listed, {} links, {} missing, {} extra", what, difference.listed,
                           difference.links, difference.missed, difference.unlisted));
  INFO(difference.first);
  CHECK(difference.listed > 5000);
  CHECK(difference.missed == 0);
  CHECK(difference.unlisted == 0);
  CHECK(difference.other_sizes == 0);
  CHECK(difference.links > 0);
}

void check_known(const std::string& program) {
  INFO(program);
  LiveTarget target(program);
  const SeenHeap seen = look_at(target.pid());
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(seen.unreadable == 0);
  CHECK(seen.skipped == 0);
  CHECK(seen.records >= 5);
  CHECK(seen.thread_lists > 0);
  CHECK(seen.problems.empty());
  check_equal(target, seen, fmt::format("known live set, {}", program));

  // A stale word may keep a dead object alive, but then also for the collector.
  int dead = 0;
  int kept = 0;
  for (const KnownObject& object : ask_known(target)) {
    INFO(object.line);
    const bool is_found = seen.live.count(object.address) != 0;
    if (object.is_alive) {
      CHECK(is_found);
    } else {
      ++dead;
      kept += is_found ? 1 : 0;
    }
  }
  CHECK(dead >= 8);
  CHECK(kept <= 1);
}

void check_unswept(const std::string& program, const std::string& mode) {
  LiveTarget target(program, {mode});
  const std::vector<KnownObject> known = ask_known(target);
  CHECK(known.size() > 6000);
  for (const Copied copied : {Copied::Roots, Copied::Everything}) {
    INFO(program << " " << mode << (copied == Copied::Everything ? ", everything copied" : ""));
    const SeenHeap seen = look_at(target.pid(), copied);
    CHECK(seen.problems.empty());
    CHECK(std::all_of(known.begin(), known.end(), [&](const KnownObject& object) {
      return seen.live.count(object.address) != 0;
    }));
    if (mode == "plain") check_equal(target, seen, fmt::format("unswept, {} {}", program, mode));
  }
  const ToolRun leaks = run_tool({"leaks", "--heap", "both", std::to_string(target.pid())});
  INFO(program << " " << mode << ": " << leaks.output << leaks.errors);
  CHECK(leaks.status == 0);
  CHECK(leaks.output.starts_with("no leaks: all "));
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace

TEST_CASE("the live set equals the collector's list, except for the links of free lists") {
  for (const std::string& program : programs_in("HEAPATTACH_KNOWN_LIVE_SET", {"known_live_set"})) {
    check_known(program);
  }
}

// The first object of a block that waits to be swept looks like an object on a free list.
TEST_CASE("objects in blocks that wait to be swept are alive, and what they hold is not leaked") {
  for (const std::string& program : programs_in("HEAPATTACH_UNSWEPT", {"unswept"})) {
    for (const char* const mode : {"plain", "coroutine"}) check_unswept(program, mode);
  }
}

// The target has run a collection, and has allocated nothing since.
TEST_CASE(
    "missing marked objects make the result partial unless the program may have dropped them") {
  for (const std::string mode : {"finalized", "returned", "lists", "dropped", "hidden"}) {
    LiveTarget target("churned", {mode});
    REQUIRE(target.greeting().at("allocated") == 0);
    const ToolRun count = run_tool({"--count", "-v", std::to_string(target.pid())});
    INFO(mode << ": " << count.output << count.errors);
    CHECK(count.errors.find(" objects that the last collection marked in ") != std::string::npos);
    const bool is_hidden = mode == "hidden";
    CHECK(count.status == (is_hidden ? 7 : 0));
    CHECK((count.errors.find("some roots were not seen") != std::string::npos) == is_hidden);
    if (!is_hidden) continue;
    const ToolRun leaks = run_tool({"leaks", "--heap", "both", std::to_string(target.pid())});
    INFO(leaks.output << leaks.errors);
    CHECK(leaks.status == 7);
    CHECK(leaks.output.starts_with("no verdict on leaks: "));
  }
}

}  // namespace heapattach
