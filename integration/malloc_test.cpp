// The heap of glibc's malloc, read from outside, is compared with the target's own counts and with
// mallinfo2(), to the byte.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

long resident_kb(pid_t pid) {
  return std::strtol(status_line(pid, "VmRSS").c_str(), nullptr, 10);
}

using simdjson::dom::element;

std::string pid_of(const LiveTarget& target) {
  return fmt::format("{}", target.pid());
}

std::int64_t sum_of(const element& rows, std::string_view key) {
  std::int64_t sum = 0;
  for (const element row : simdjson::dom::array(rows)) sum += std::int64_t(row[key]);
  return sum;
}

// Checks the number of allocations in use that heapattach finds, reachable or not.
void check_in_use(LiveTarget& target) {
  const Answer& truth = target.greeting();
  const ToolRun run = run_tool({"--count", "--all", "-f", "json", pid_of(target)});
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  CHECK(sum_of(report["types"], "objects") == truth.at("in_use"));
  CHECK(std::int64_t(report["heap_bytes"]) == truth.at("arena") + truth.at("mapped_bytes"));
}

void check_leaks(LiveTarget& target) {
  const Answer& truth = target.greeting();
  const ToolRun run = run_tool({"leaks", "-f", "json", pid_of(target)});
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  CHECK(std::int64_t(report["objects"]) == truth.at("leaked"));
  CHECK(std::int64_t(report["bytes"]) == truth.at("leaked_bytes"));
  CHECK(std::int64_t(report["leaks"]) == 40 + 10 + 5);
  CHECK(sum_of(report["roots"], "objects") == truth.at("leaked"));
  CHECK(sum_of(report["types"], "bytes") == truth.at("leaked_bytes"));
}

}  // namespace

TEST_CASE("malloc's heap has what the program has not freed, under every tunable") {
  const std::vector<std::string> tunables{"",
                                          "glibc.malloc.tcache_count=0",
                                          "glibc.malloc.tcache_count=100",
                                          "glibc.malloc.tcache_max=512",
                                          "glibc.malloc.arena_max=1",
                                          "glibc.malloc.mmap_threshold=4096",
                                          "glibc.malloc.perturb=165",
                                          "glibc.malloc.hugetlb=1"};
  for (const std::string& one : tunables) {
    CAPTURE(one);
    LiveTarget target("/usr/bin/env", {"GLIBC_TUNABLES=" + one, target_path("malloced")});
    check_in_use(target);
    check_leaks(target);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("malloc's heap is read of a stripped static program, and of one whose break is blocked") {
  LiveTarget blocked("malloced", {"blocked"});
  check_in_use(blocked);
  LiveTarget stripped("malloced_static");
  check_in_use(stripped);
  check_leaks(stripped);
}

TEST_CASE("memory that was never touched is neither copied nor counted as unreadable") {
  if (skips_as_reading_takes_memory()) return;
  LiveTarget target("sparse");
  const Answer& truth = target.greeting();
  REQUIRE(truth.at("arena") > 64 << 20);
  const long before = resident_kb(target.pid());
  const ToolRun run = run_tool({"leaks", "-f", "json", pid_of(target)});
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  CHECK(std::int64_t(parser.parse(run.output)["objects"]) == truth.at("leaked"));
  CHECK(resident_kb(target.pid()) < before + 4096);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("what containers hold has a type, with libstdc++ and with libc++") {
  struct Expected {
    std::string name;
    std::vector<std::string> types;  // how the names of the types begin
  };
  const std::vector<Expected> all{
      {"items", {"shop::Item"}},
      {"texts", {"(buffer of std::string)"}},
      {"tree_nodes", {"std::_Rb_tree_node<", "std::__1::__tree_node<"}},
      {"hash_nodes", {"std::__detail::_Hash_node<", "std::__1::__hash_node<"}},
      {"list_nodes",
       {"std::_List_node<", "std::_Fwd_list_node<", "std::__1::__list_node<",
        "std::__1::__forward_list_node<"}},
      {"arrays", {"(buffer of std::vector<"}}};
  for (const std::string name : {"containers", "containers_libstdcxx", "containers_libcxx"}) {
    CAPTURE(name);
    LiveTarget target(name);
    const ToolRun run = run_tool({"--count", "-f", "json", pid_of(target)});
    INFO(run.errors, run.output);
    REQUIRE(run.status == 0);
    simdjson::dom::parser parser;
    const element report = parser.parse(run.output);
    for (const Expected& expected : all) {
      CAPTURE(expected.name);
      std::int64_t objects = 0;
      for (const element row : simdjson::dom::array(report["types"])) {
        const std::string_view type = row["type"];
        const bool is_meant =
            std::any_of(expected.types.begin(), expected.types.end(),
                        [&](const std::string& start) { return type.starts_with(start); });
        if (is_meant) objects += std::int64_t(row["objects"]);
      }
      CHECK(objects == target.greeting().at(expected.name));
    }
  }
}

TEST_CASE("text has the names that people write, JSON and -v the full ones; options take both") {
  LiveTarget target("containers");
  const std::string full = "std::_Rb_tree_node<std::pair<int const, shop::Item*> >";
  const std::string shown = "std::map<int, shop::Item*> node";
  const std::string pid = pid_of(target);
  const ToolRun text = run_tool({"--count", pid});
  CHECK_MESSAGE(text.output.find("  " + shown + "\n") != std::string::npos, text.output);
  CHECK(text.output.find("__cxx11") == std::string::npos);
  CHECK(text.output.find("std::allocator") == std::string::npos);
  const ToolRun verbose = run_tool({"--count", "-v", pid});
  CHECK(verbose.output.find("  " + full + "\n") != std::string::npos);
  CHECK(verbose.output.find(shown) == std::string::npos);
  const ToolRun json = run_tool({"--count", "-f", "json", pid});
  CHECK(json.output.find("\"type\":\"" + full + "\"") != std::string::npos);
  CHECK(json.output.find("\"short\":\"" + shown + "\"") != std::string::npos);
  CHECK(run_tool({"--count", "-f", "csv", pid}).output.find(full) != std::string::npos);
  for (const std::string& name : {full, shown, std::string("std::map<int*node")}) {
    CAPTURE(name);
    const ToolRun chosen = run_tool({"--count", "--type", name, pid});
    CHECK(chosen.output.find("  " + shown + "\n") != std::string::npos);
    CHECK(chosen.output.find("  shop::Item\n") == std::string::npos);
    const ToolRun why = run_tool({"--why", name, pid});
    CHECK_MESSAGE(why.status == 0, why.errors);
    CHECK(run_tool({"-q", "--count", "--fail-if", "count(" + name + ") > 99", pid}).status == 10);
  }
}

TEST_CASE("leaks are grouped by what nothing leaked references, with an example") {
  LiveTarget target("malloced");
  const ToolRun run = run_tool({"leaks", pid_of(target)});
  INFO(run.output);
  CHECK(run.status == 0);
  CHECK(run.output.starts_with("145 objects leaked, "));
  CHECK(run.output.find("(anonymous namespace)::Circle, in a cycle\n") != std::string::npos);
  CHECK(run.output.find("    next → 0x") != std::string::npos);

  const std::string pid = pid_of(target);
  CHECK(run_tool({"leaks", "--fail-if", "leaked(*) > 144", pid}).status == 10);
  CHECK(run_tool({"leaks", "--fail-if", "leaked(*) > 145", pid}).status == 0);
  CHECK(run_tool({"leaks", "--fail-if", "leaked_bytes(*Circle) > 1k", pid}).status == 10);
  CHECK(run_tool({"--count", "--fail-if", "leaked(*) > 0", pid}).status == 2);
  const ToolRun ignored = run_tool({"leaks", "--ignore", "*Circle", "-q", pid});
  CHECK(ignored.output.starts_with("5 objects leaked, "));
  const ToolRun confirmed = run_tool({"leaks", "--confirm", "50ms", pid});
  CHECK(confirmed.output.starts_with("145 objects leaked, "));
}

TEST_CASE("an allocation that only a vector register references is not leaked") {
  LiveTarget target("in_vectors");
  for (const char* hold : {"freeze", "clone"}) {
    const ToolRun run = run_tool({"leaks", "--snapshot", hold, pid_of(target)});
    INFO(run.errors);
    CHECK(run.status == 0);
    CHECK(run.output.starts_with("3 objects leaked, "));
  }
}

TEST_CASE("stops in the midst of malloc give no false leak with --confirm") {
  LiveTarget target("mallocing");
  const auto leaked = target.greeting().at("leaked");
  const int stops = rounds(20, 1000);
  for (int stop = 0; stop < stops; stop += 2) {
    const ToolRun run = run_tool({"leaks", "--confirm", "20ms", "-f", "json", pid_of(target)});
    CAPTURE(stop);
    INFO(run.errors, run.output);
    REQUIRE(run.status == 0);
    simdjson::dom::parser parser;
    const element report = parser.parse(run.output);
    CHECK(std::int64_t(report["objects"]) == leaked);
    CHECK(std::int64_t(report["bytes"]) == target.greeting().at("leaked_bytes"));
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("memory that a copy of the process does not get leaves no verdict on a clone's leaks") {
  LiveTarget target("uncopied");
  const ToolRun frozen = run_tool({"leaks", "--heap", "malloc", pid_of(target)});
  CHECK(frozen.status == 0);
  const ToolRun cloned =
      run_tool({"leaks", "--heap", "malloc", "--snapshot", "clone", pid_of(target)});
  INFO(cloned.output, cloned.errors);
  CHECK(cloned.status == 7);
  CHECK(cloned.output.find("out of copies") != std::string::npos);
}

TEST_CASE("what a collector manages cannot leak, and the report says so") {
  if (!is_target_built("known_live_set")) return;
  LiveTarget target("known_live_set");
  const ToolRun run = run_tool({"leaks", pid_of(target)});
  CHECK(run.status == 0);
  CHECK(run.output.starts_with("no leaks: this heap has a garbage collector"));
  CHECK(run_tool({"leaks", "--fail-if", "leaked(*) > 0", pid_of(target)}).status == 2);
}

}  // namespace heapattach
