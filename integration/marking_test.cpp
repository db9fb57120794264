#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/seen_heap.h"
#include "integration/tool.h"

// The collector's less usual rules of marking: heapattach's live set is compared with the
// collector's own list, object by object. HEAPATTACH_MARKING_RULES names programs to use instead of
// this build's, separated by colons: marking_rules.c, built with other releases of the collector
// (releases.sh).

namespace heapattach {

namespace {

std::vector<std::string> programs() {
  return programs_in("HEAPATTACH_MARKING_RULES", {"marking_rules", "marking_rules_stripped"});
}

void check_program(const std::string& program, const std::string& mode, bool may_have_more) {
  INFO(program << " " << mode);
  LiveTarget target(program, {mode});
  if (mode == "cycle") REQUIRE(target.greeting().at("in_cycle") == 1);
  const SeenHeap seen = look_at(target.pid());
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(seen.unreadable == 0);
  CHECK(seen.skipped == 0);

  const std::vector<KnownObject> known = ask_known(target);
  CHECK_FALSE(known.empty());
  for (const KnownObject& object : known) {
    if (object.is_alive && seen.live.count(object.address) == 0) FAIL_CHECK(object.line);
  }
  // Release 7.4 cannot list its objects.
  const Difference difference = compare_with_list(target, seen);
  print_figure(fmt::format(
      "marking rules, {} {}: {} listed, {} links of free lists, {} missing, {} "
      "not listed",
      program, mode, difference.listed, difference.links, difference.missed, difference.unlisted));
  if (target.greeting().at("objects") == 0) return;
  INFO(difference.first);
  CHECK(difference.missed == 0);
  CHECK(difference.other_sizes == 0);
  if (!may_have_more) CHECK(difference.unlisted == 0);
}

// Checks that the live set of a target in this mode equals its collector's list. If heapattach
// cannot follow a rule, the live set may be larger.
void check_mode(const std::string& mode, bool may_have_more = false) {
  for (const std::string& program : programs()) {
    // Without symbols, heapattach cannot know that pages are write-protected, and so how stacks are
    // scanned.
    if (mode == "ignoring_protected" && program.ends_with("stripped")) continue;
    check_program(program, mode, may_have_more);
  }
}

}  // namespace

TEST_CASE(
    "without interior pointers only the displacements count that the "
    "program registered") {
  check_mode("displacements");
}

TEST_CASE("a pointer to the end of an object keeps it alive") {
  check_mode("ends");
}

TEST_CASE("pointers past the first page of an object that ignores them count from some stacks") {
  for (const char* mode : {"ignoring", "ignoring_bases", "ignoring_protected"}) check_mode(mode);
}

TEST_CASE(
    "objects that may be missing because the collector's mode is unknown make the result partial") {
  if (!is_target_built("marking_rules_stripped")) return;
  LiveTarget target("marking_rules_stripped", {"ignoring_protected"});
  const ToolRun count = run_tool({"--count", std::to_string(target.pid())});
  CAPTURE(count.errors);
  CHECK(count.status == 7);
  CHECK(count.errors.find("the collector's mode, which decides whether that counts, is unknown") !=
        std::string::npos);
  for (const char* program : {"marking_rules_stripped", "marking_rules_static"}) {
    LiveTarget other(
        program,
        {program == std::string("marking_rules_stripped") ? "typed" : "ignoring_protected"});
    CHECK(run_tool({"--count", std::to_string(other.pid())}).status == 0);
  }
}

TEST_CASE("typed objects and arrays are scanned by their descriptors") {
  check_mode("typed");
}

TEST_CASE("objects that reference their descriptors are scanned by them") {
  check_mode("gcj");
}

TEST_CASE("references of dead objects with a disclaim procedure are kept") {
  check_mode("disclaim");
}

TEST_CASE(
    "objects that a procedure of the program's marks are scanned whole, "
    "and that is reported") {
  check_mode("own", true);
  LiveTarget target("marking_rules", {"own"});
  const ToolRun count = run_tool({"--count", std::to_string(target.pid())});
  CHECK(count.status == 0);
  CHECK(count.errors.find("; 30 objects (1.9 KiB) marked conservatively") != std::string::npos);
  const ToolRun snapshot = run_tool({std::to_string(target.pid())});
  CHECK(snapshot.output.find(R"("marked_conservatively":{"objects":30,"bytes":1920})") !=
        std::string::npos);
  LiveTarget typed("marking_rules", {"gcj"});
  const ToolRun other = run_tool({"--count", std::to_string(typed.pid())});
  CHECK(other.errors.find("conservatively") == std::string::npos);
}

TEST_CASE(
    "a heap with write-protected pages is read like any other, even within "
    "a cycle") {
  for (const char* mode : {"incremental", "cycle"}) {
    check_mode(mode);
    LiveTarget target("marking_rules", {mode});
    for (const char* hold : {"freeze", "clone"}) {
      CAPTURE(hold);
      const ToolRun run = run_tool({"--count", "--snapshot", hold, std::to_string(target.pid())});
      CHECK(run.status == 0);
      // 24,577 objects of the tree, and 1,001 of ballast.h.
      CHECK(run.output.find("25578 ") != std::string::npos);
    }
    const ToolRun check = run_tool({"--check", std::to_string(target.pid())});
    CHECK(check.status == 0);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

}  // namespace heapattach
