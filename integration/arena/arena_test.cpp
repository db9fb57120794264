// Tests a kind of heap that only this folder knows (arena.h), with a heapattach that is linked with
// it. Every report works on it, alone and together with malloc's heap, because no report knows a
// kind of heap by name. The truth is the target's own count.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

using simdjson::dom::element;

ToolRun run_with_arena(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TOOL_WITH_ARENA);
  return run_in_shell("\"$@\"", arguments);
}

ToolRun run_with_arena(std::vector<std::string> arguments, const LiveTarget& target) {
  arguments.push_back(fmt::format("{}", target.pid()));
  return run_with_arena(std::move(arguments));
}

std::int64_t total_of(const element& heap, std::string_view key) {
  return heap[key];
}

void check_leaks(const ToolRun& run, std::int64_t objects, std::int64_t leaks) {
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  CHECK(total_of(report, "objects") == objects);
  CHECK(total_of(report, "leaks") == leaks);
}

}  // namespace

TEST_CASE("the objects of another kind of heap are counted") {
  LiveTarget target("arena");
  const Answer& truth = target.greeting();
  const std::int64_t reachable = truth.at("used") - truth.at("leaked");
  // The tool itself does not know this kind, and reads malloc's heap.
  CHECK(run_tool({"--heap", "arena", fmt::format("{}", target.pid())}).status == 2);

  for (const std::vector<std::string>& choice : {std::vector<std::string>{}, {"--heap", "arena"}}) {
    std::vector<std::string> arguments{"--count", "-f", "json"};
    arguments.insert(arguments.end(), choice.begin(), choice.end());
    const ToolRun run = run_with_arena(arguments, target);
    INFO(run.errors, run.output);
    REQUIRE(run.status == 0);
    simdjson::dom::parser parser;
    const element report = parser.parse(run.output);
    CHECK(total_of(report, "objects") == reachable);
    CHECK(total_of(report, "bytes") == reachable * 48);
    CHECK(total_of(report, "heap_bytes") == truth.at("heap_bytes"));
    CHECK(total_of(report, "free_bytes") == truth.at("free_bytes"));
    CHECK(std::string_view(report["types"].at(0)["type"]) == "Node");
  }
  const ToolRun table = run_with_arena({"--count", "--all"}, target);
  INFO(table.output);
  CHECK(table.output.find(fmt::format("{}    7200", truth.at("leaked"))) != std::string::npos);
  CHECK(table.output.find("(unreachable)\n") != std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("the path to an object and the leaks are those of the program, whatever the heap") {
  LiveTarget target("arena");
  const Answer& truth = target.greeting();
  const ToolRun why = run_with_arena({"--why", fmt::format("{:#x}", truth.at("last"))}, target);
  INFO(why.errors, why.output);
  CHECK(why.status == 0);
  CHECK(why.output.find("global first of target_arena") != std::string::npos);
  check_leaks(run_with_arena({"leaks", "-f", "json"}, target), truth.at("leaked"),
              truth.at("leaks"));
  check_leaks(run_with_arena({"leaks", "-f", "json", "--snapshot", "clone"}, target),
              truth.at("leaked"), truth.at("leaks"));
}

TEST_CASE("two heaps that the program frees by hand are read together") {
  LiveTarget target("arena");
  const Answer& truth = target.greeting();
  const ToolRun count = run_with_arena({"--count", "-f", "json", "--heap", "both"}, target);
  INFO(count.errors, count.output);
  REQUIRE(count.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(count.output);
  CHECK(std::string_view(report["heaps"].at(0)["heap"]) == "arena");
  CHECK(std::string_view(report["heaps"].at(1)["heap"]) == "malloc");
  CHECK(total_of(report["heaps"].at(0), "objects") == truth.at("used") - truth.at("leaked"));
  CHECK(total_of(report["heaps"].at(0), "heap_bytes") == truth.at("heap_bytes"));

  // The path leads through malloc's object into the arena.
  const std::string of_ticket = fmt::format("{:#x}", truth.at("of_ticket"));
  const ToolRun why = run_with_arena({"--why", of_ticket, "--heap", "both"}, target);
  INFO(why.output);
  CHECK(why.output.find("global tickets of target_arena") != std::string::npos);
  CHECK(why.output.find("node → " + of_ticket) != std::string::npos);

  check_leaks(run_with_arena({"leaks", "-f", "json", "--heap", "both"}, target), truth.at("leaked"),
              truth.at("leaks"));
  const Answer after = target.ask("unticket");
  // The first of malloc's objects references all others, and these reference those of the arena.
  check_leaks(run_with_arena({"leaks", "-f", "json", "--heap", "both"}, target),
              after.at("leaked") + after.at("freed"), truth.at("leaks") + 1);
}

TEST_CASE("a saved snapshot of another kind of heap, and its page, say the same as the process") {
  LiveTarget target("arena");
  const TemporaryDirectory directory;
  const std::string file = directory.file("arena.jsonl");
  const std::string page = directory.file("arena.html");
  REQUIRE(run_with_arena({"--all", "--heap", "both", "-o", file}, target).status == 0);
  for (const char* report : {"--count", "leaks", "--sizes"}) {
    INFO(report);
    std::vector<std::string> live{report, "-f", "json", "-q", "--heap", "both"};
    if (std::string(report) != "leaks") live.emplace_back("--all");
    const ToolRun of_file = run_with_arena({report, "-f", "json", "-q", file});
    CHECK(of_file.status == 0);
    CHECK(run_with_arena(live, target).output == of_file.output);
  }
  const ToolRun html = run_with_arena({"-f", "html", "-o", page, file});
  INFO(html.errors);
  CHECK(html.status == 0);
  CHECK(read_text(page).find("Node") != std::string::npos);
}

}  // namespace heapattach
