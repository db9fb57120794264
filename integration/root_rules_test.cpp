#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/seen_heap.h"
#include "integration/tool.h"

// Each way of adding roots to the collector or removing them is compared with the collector's list.
// HEAPATTACH_ROOT_RULES names programs to use instead of this build's, separated by colons:
// root_rules.c, built with other releases of the collector (releases.sh).

namespace heapattach {

namespace {

std::vector<std::string> programs() {
  std::vector<std::string> ours{"root_rules", "root_rules_stripped"};
  if (is_long_run()) ours.emplace_back("root_rules_static");
  return programs_in("HEAPATTACH_ROOT_RULES", std::move(ours));
}

constexpr const char* kModes[] = {"areas",
                                  "inside",
                                  "many",
                                  "excluded",
                                  "removed",
                                  "cleared",
                                  "without_libraries",
                                  "filtered",
                                  "opened",
                                  "closed",
                                  "threads",
                                  "blocking",
                                  "active_again",
                                  "blocked_again",
                                  "coroutine",
                                  "merged",
                                  "uncollectable",
                                  "atomic_stack",
                                  "coroutine_threads",
                                  "alternate",
                                  "unregistered"};

void check_mode(const std::string& program, const std::string& mode, Copied copied) {
  INFO(program << " " << mode << (copied == Copied::Everything ? ", everything copied" : ""));
  LiveTarget target(program, {mode});
  if (target.greeting().count("objects") == 0) {
    print_figure(fmt::format("root rules, {} {}: not in this release", program, mode));
    return;
  }
  const SeenHeap seen = look_at(target.pid(), copied);
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(seen.skipped == 0);
  CHECK(fmt::format("{}", fmt::join(seen.problems, "; ")) == "");
  const bool has_list = target.greeting().at("objects") >= 0;
  std::size_t known = 0;
  for (const KnownObject& object : ask_known(target)) {
    // A stale word may keep a dead object alive, but also for the collector, which then lists it.
    if (!object.is_alive && has_list) continue;
    INFO(object.line);
    CHECK(seen.live.count(object.address) == (object.is_alive ? 1 : 0));
    ++known;
  }
  CHECK((known > 0 || has_list));  // in some modes, the program knows only dead objects
  if (!has_list) {
    print_figure(
        fmt::format("root rules, {} {}: {} known, no list to compare with", program, mode, known));
    return;
  }
  const Difference difference = compare_with_list(target, seen);
  INFO(difference.first);
  CHECK(difference.listed > 0);
  CHECK(difference.missed == 0);
  CHECK(difference.unlisted == 0);
  CHECK(difference.other_sizes == 0);
  print_figure(fmt::format("root rules, {} {}: {} listed, {} links, {} missing, {} extra", program,
                           mode, difference.listed, difference.links, difference.missed,
                           difference.unlisted));
}

// The output of heapattach for a target some of whose roots are not available.
ToolRun count(const std::string& program, const std::string& mode) {
  const LiveTarget target(program, {mode});
  return run_tool({"--heap", "gc", "--max-pause", "30000", std::to_string(target.pid())});
}

}  // namespace

TEST_CASE("exactly what every kind of root references is alive") {
  ::setenv("ROOTED_LIBRARY", target_path("rooted_library").c_str(), 1);
  for (const std::string& program : programs()) {
    if (!is_target_built(program)) continue;
    for (const char* const mode : kModes) {
      check_mode(program, mode, Copied::Roots);
      if (is_long_run()) check_mode(program, mode, Copied::Everything);
    }
  }
}

TEST_CASE("a root that cannot be read, or a thread on an unknown stack, makes the result partial") {
  for (const std::string& program : programs()) {
    if (!is_target_built(program)) continue;
    INFO(program);
    const ToolRun unreadable = count(program, "unreadable");
    CHECK(unreadable.status == 7);
    CHECK(unreadable.errors.find("bytes of the roots from") != std::string::npos);
    const ToolRun lost = count(program, "lost");
    CHECK(lost.status == 7);
    CHECK(lost.errors.find("is not on the stack that the collector scans") != std::string::npos);
    const ToolRun healthy = count(program, "unregistered");
    CHECK(healthy.status == 0);
  }
}

TEST_CASE("a program whose collector has no objects yet has an empty heap") {
  for (const std::string& program : programs()) {
    if (!is_target_built(program)) continue;
    for (const std::string mode : {"uninitialised", "empty"}) {
      const ToolRun run = count(program, mode);
      INFO(program << " " << mode << ": " << run.output << run.errors);
      // Without symbols, nothing shows that there is a collector which has not started.
      const bool is_hidden = program.ends_with("stripped") && mode == "uninitialised";
      CHECK(run.status == (is_hidden ? 5 : 0));
      CHECK(run.errors.find(is_hidden ? "no collector found" : "0 objects") != std::string::npos);
    }
  }
}

}  // namespace heapattach
