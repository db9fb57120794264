// A process with a collector and with malloc: both heaps in one snapshot, compared with the
// target's own counts.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
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

using simdjson::dom::element;

std::string pid_of(const LiveTarget& target) {
  return fmt::format("{}", target.pid());
}

std::string address_of(std::int64_t at) {
  return fmt::format("{:#x}", at);
}

// An object of a snapshot.
struct Seen {
  bool is_mallocs = false;
  bool is_reachable = true;
  std::vector<std::string> refs;
};

struct SeenSnapshot {
  std::map<std::string, Seen> objects;
  std::uint64_t malloc_heap_bytes = 0;  // in the first record

  // The number of references from one heap into the other.
  [[nodiscard]] std::int64_t references(bool from_malloc) const {
    std::int64_t count = 0;
    for (const auto& [address, object] : objects) {
      if (object.is_mallocs != from_malloc) continue;
      for (const std::string& to : object.refs) {
        count += objects.at(to).is_mallocs != from_malloc ? 1 : 0;
      }
    }
    return count;
  }
  [[nodiscard]] std::int64_t allocations() const {
    return std::count_if(objects.begin(), objects.end(),
                         [](const auto& one) { return one.second.is_mallocs; });
  }
};

SeenSnapshot parse(const std::string& lines) {
  SeenSnapshot seen;
  simdjson::dom::parser parser;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const element record = parser.parse(line);
    const std::string_view kind = record["record"];
    if (kind == "snapshot") seen.malloc_heap_bytes = record["malloc"]["heap_bytes"];
    if (kind != "object") continue;
    Seen& object = seen.objects[std::string(std::string_view(record["address"]))];
    object.is_mallocs = record["heap"].error() == simdjson::SUCCESS;
    object.is_reachable = record["reachable"].error() != simdjson::SUCCESS;
    simdjson::dom::object refs;
    if (record["refs"].get(refs) != simdjson::SUCCESS) continue;
    for (const auto& [key, to] : refs) object.refs.emplace_back(std::string_view(to));
  }
  return seen;
}

std::int64_t objects_of(const element& report, std::string_view type) {
  for (const element row : simdjson::dom::array(report["types"])) {
    if (std::string_view(row["type"]) == type) return row["objects"];
  }
  return 0;
}

// The numbers of one of two heaps.
std::map<std::string, std::int64_t> numbers_of(const element& heap) {
  std::map<std::string, std::int64_t> numbers;
  for (const char* key : {"objects", "bytes", "heap_bytes", "free_bytes", "unreachable_bytes"}) {
    numbers[key] = heap[key];
  }
  return numbers;
}

ToolRun run_both(std::vector<std::string> arguments, const LiveTarget& target) {
  arguments.insert(arguments.end(), {"--heap", "both", pid_of(target)});
  return run_tool(arguments);
}

// Checks that a count shows leaked bytes apart from malloc's own memory.
void check_leaked_in_count(const LiveTarget& target, const Answer& truth) {
  const ToolRun run = run_both({"--count", "-q", "-f", "json"}, target);
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  const std::int64_t leaked = report["leaked_bytes"];
  CHECK(leaked == truth.at("leaked_bytes"));
  CHECK(leaked + std::int64_t(report["overhead_bytes"]) ==
        std::int64_t(report["heaps"].at(1)["unreachable_bytes"]));
}

void check_leaked(const ToolRun& run, const Answer& truth) {
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  CHECK(std::int64_t(report["objects"]) == truth.at("leaked"));
  CHECK(std::int64_t(report["bytes"]) == truth.at("leaked_bytes"));
  // 30 chains of two, 300 allocations that garbage references, and 4 that reference garbage, too.
  CHECK(std::int64_t(report["leaks"]) == 30 + 300 + 4);
}

}  // namespace

TEST_CASE("of two heaps in one snapshot, each has its own totals") {
  if (!is_target_built("both_heaps")) return;
  LiveTarget target("both_heaps");
  const Answer& truth = target.greeting();
  const ToolRun run = run_both({"--count", "-f", "json"}, target);
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  auto collector = numbers_of(report["heaps"].at(0));
  auto malloc = numbers_of(report["heaps"].at(1));
  CHECK(std::string_view(report["heaps"].at(0)["heap"]) == "gc");
  CHECK(collector["heap_bytes"] == truth.at("gc_heap"));
  CHECK(collector["free_bytes"] == truth.at("gc_free"));
  CHECK(malloc["heap_bytes"] == truth.at("arena") + truth.at("mapped_bytes"));
  CHECK(malloc["heap_bytes"] ==
        malloc["bytes"] + malloc["unreachable_bytes"] + malloc["free_bytes"]);
  for (auto& [key, sum] : numbers_of(report)) CHECK(sum == collector[key] + malloc[key]);
  CHECK(objects_of(report, "Session") == 205);
  CHECK(objects_of(report, "Buffer") == 205);
  CHECK(objects_of(report, "Item") == 150);

  // The collector's heap is the same as when it is read alone.
  simdjson::dom::parser alone_parser;
  const ToolRun alone = run_tool({"--count", "--heap", "gc", "-f", "json", pid_of(target)});
  CHECK(collector == numbers_of(alone_parser.parse(alone.output)));

  const ToolRun table = run_both({"--count"}, target);
  for (const char* line : {"live, the collector's\n", "live, malloc's\n", "total in use by both\n",
                           "malloc's heap\n", "both heaps\n"}) {
    CHECK(table.output.find(line) != std::string::npos);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("references lead from the collector's heap into malloc's and back") {
  if (!is_target_built("both_heaps")) return;
  LiveTarget target("both_heaps");
  const Answer& truth = target.greeting();
  const ToolRun run = run_both({"--all"}, target);
  INFO(run.errors);
  REQUIRE(run.status == 0);
  const SeenSnapshot seen = parse(run.output);
  CHECK(seen.malloc_heap_bytes == std::uint64_t(truth.at("arena") + truth.at("mapped_bytes")));
  CHECK(seen.allocations() == truth.at("in_use"));
  CHECK(seen.references(false) == truth.at("into_malloc"));
  CHECK(seen.references(true) == truth.at("into_gc"));

  const std::string text = address_of(truth.at("text"));
  CHECK(seen.objects.at(text).is_mallocs);
  const ToolRun why = run_both({"--why", text, "-q"}, target);
  INFO(why.output);
  const auto at = why.output.find("global sessions of target_both_heaps");
  REQUIRE(at != std::string::npos);
  CHECK(why.output.find(" Session\n", at) != std::string::npos);
  CHECK(why.output.find("buffer → ", at) != std::string::npos);
  CHECK(why.output.find("text → " + text, at) != std::string::npos);
}

TEST_CASE("a saved snapshot of both heaps says the same as the process") {
  if (!is_target_built("both_heaps")) return;
  LiveTarget target("both_heaps");
  target.ask("garbage");
  const TemporaryDirectory directory;
  const std::string file = directory.file("both.jsonl");
  REQUIRE(run_both({"--all", "-o", file}, target).status == 0);
  for (const std::vector<std::string>& report : {std::vector<std::string>{"--count"},
                                                 {"--count", "-f", "json"},
                                                 {"--sizes"},
                                                 {"leaks"},
                                                 {"leaks", "-f", "json"}}) {
    auto arguments = report;
    if (report[0] != "leaks") arguments.emplace_back("--all");
    arguments.emplace_back("-q");
    auto of_file = report;
    of_file.insert(of_file.end(), {"-q", file});
    const ToolRun live = run_both(arguments, target);
    const ToolRun saved = run_tool(of_file);
    INFO(live.errors, saved.errors, saved.output);
    CHECK(live.output == saved.output);
    CHECK(saved.status == 0);
  }
  std::ifstream written(file);
  const std::string bytes{std::istreambuf_iterator<char>(written), {}};
  CHECK(run_tool({"-q", file}).output == bytes);
}

TEST_CASE("malloc's memory that a live object of the collector references is not leaked") {
  if (!is_target_built("both_heaps")) return;
  LiveTarget target("both_heaps");
  CHECK(run_both({"leaks", "-q"}, target).output.starts_with("no leaks: all "));
  const Answer truth = target.ask("garbage");
  check_leaked(run_both({"leaks", "-f", "json"}, target), truth);
  check_leaked_in_count(target, truth);
  check_leaked(run_both({"leaks", "-f", "json", "--confirm", "20ms"}, target), truth);
  check_leaked(run_both({"leaks", "-f", "json", "--snapshot", "clone"}, target), truth);
  CHECK(run_both({"leaks", "--fail-if", "leaked(*) > 0"}, target).status == 10);

  // By default, the heap is the collector's, and the report advises what to do.
  const ToolRun alone = run_tool({"leaks", pid_of(target)});
  CHECK(alone.status == 0);
  CHECK(alone.output.find("--heap both") != std::string::npos);

  // Memory of malloc references garbage, which references this allocation.
  const std::string kept = address_of(truth.at("kept_one"));
  const ToolRun held = run_both({"--why", kept, "-q"}, target);
  INFO(held.output);
  CHECK(held.output.find("(garbage of the collector)") != std::string::npos);
  const ToolRun path = run_both({"--why", kept, "--all", "-q"}, target);
  INFO(path.output);
  CHECK(path.output.find("global holders[3] of target_both_heaps") != std::string::npos);
  CHECK(path.output.find("garbage → ") != std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a Crystal program's heap is the same beside malloc's, which has no leaks") {
  if (!is_target_built("kinds_debug")) return;
  LiveTarget target("kinds_debug");
  simdjson::dom::parser parser;
  simdjson::dom::parser alone_parser;
  const ToolRun both = run_both({"--count", "-f", "json"}, target);
  const ToolRun alone = run_tool({"--count", "--heap", "gc", "-f", "json", pid_of(target)});
  INFO(both.errors);
  REQUIRE(both.status == 0);
  CHECK(numbers_of(parser.parse(both.output)["heaps"].at(0)) ==
        numbers_of(alone_parser.parse(alone.output)));
  // Only the kernel knows where the thread's stack for signal handlers is.
  const ToolRun leaks = run_both({"leaks"}, target);
  INFO(leaks.output);
  CHECK(leaks.output.starts_with("no leaks: all "));
}

TEST_CASE("both heaps are read from a core file, and when a program exits") {
  if (!is_target_built("both_heaps")) return;
  const TemporaryDirectory directory;
  LiveTarget target("both_heaps");
  const Answer truth = target.ask("garbage");
  if (run_in_shell("command -v gcore", {}).status == 0) {
    REQUIRE(
        run_in_shell("gcore -o \"$1/core\" \"$2\"", {directory.file(""), pid_of(target)}).status ==
        0);
    const std::string core = directory.file("core." + pid_of(target));
    check_leaked(run_tool({"leaks", "-f", "json", "--heap", "both", core}), truth);
  } else {
    print_skip("gdb is not installed");
  }
  ToolRun run =
      run_in_shell("echo garbage | \"$0\" leaks -f json -o \"$1\" --heap both --at-exit -- \"$2\"",
                   {directory.file("leaks.json"), target_path("both_heaps")});
  run.output = read_text(directory.file("leaks.json"));
  check_leaked(run, truth);
}

TEST_CASE("the memory of a process with two heaps is shown by heap") {
  if (!is_target_built("both_heaps")) return;
  LiveTarget target("both_heaps");
  const Answer& truth = target.greeting();
  const ToolRun run = run_both({"--summary", "-f", "json"}, target);
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  CHECK(std::int64_t(report["heap"]["heap_bytes"]) == truth.at("gc_heap"));
  CHECK(std::int64_t(report["malloc_heap"]["heap_bytes"]) ==
        truth.at("arena") + truth.at("mapped_bytes"));
  // malloc's own account counts chunks in threads' caches as used.
  const element malloc = report["malloc_heap"];
  CHECK(std::int64_t(malloc["bin_bytes"]) + std::int64_t(malloc["fast_bin_bytes"]) +
            std::int64_t(malloc["top_bytes"]) ==
        truth.at("free"));
  CHECK(run_tool({"--summary", pid_of(target)}).output.find("--heap both") != std::string::npos);
  CHECK(run_tool({"--check", pid_of(target)}).output.find("--heap both") != std::string::npos);
}

TEST_CASE("both heaps can be redacted, watched and shown in a page") {
  if (!is_target_built("both_heaps")) return;
  LiveTarget target("both_heaps");
  simdjson::dom::parser parser;
  simdjson::dom::parser plain_parser;
  const ToolRun redacted = run_both({"--count", "-f", "json", "--redact", "full"}, target);
  const ToolRun plain = run_both({"--count", "-f", "json"}, target);
  INFO(redacted.errors, plain.errors);
  REQUIRE(redacted.status == 0);
  REQUIRE(plain.status == 0);
  CHECK(redacted.output.find("Session") == std::string::npos);
  const element hidden = parser.parse(redacted.output);
  const element shown = plain_parser.parse(plain.output);
  for (const std::size_t heap : {0U, 1U}) {
    CHECK(numbers_of(hidden["heaps"].at(heap)) == numbers_of(shown["heaps"].at(heap)));
  }

  const ToolRun watched = run_both({"--watch", "100ms", "--rounds", "2", "-q"}, target);
  INFO(watched.errors, watched.output);
  CHECK(watched.status == 0);
  const std::string objects = fmt::format("{} objects", std::int64_t(shown["objects"]));
  CHECK(watched.output.find("round 2") != std::string::npos);
  CHECK(watched.output.find(objects, watched.output.find("round 2")) != std::string::npos);

  const TemporaryDirectory directory;
  const std::string page = directory.file("both.html");
  CHECK(run_both({"-o", page}, target).status == 0);
  CHECK(read_text(page).find("Buffer") != std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("both heaps are refused by name where there is one, or no room for two") {
  LiveTarget plain("malloced");
  const ToolRun none = run_both({"--count"}, plain);
  INFO(none.errors);
  CHECK(none.status == 5);
  CHECK(none.errors.find("--heap malloc") != std::string::npos);
  if (!is_target_built("both_heaps")) return;
  LiveTarget target("both_heaps");
  const ToolRun dump = run_both({"-f", "gcgrph", "-o", "/dev/null"}, target);
  INFO(dump.errors);
  CHECK(dump.status == 2);
  CHECK(dump.errors.find("--heap gc") != std::string::npos);
}

}  // namespace heapattach
