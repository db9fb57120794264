// The JSON of every report is as its schema says, and a reader that was written from DATA.md alone
// counts the same as heapattach.

#include <cstdlib>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

// Debian's own Python, which finds Debian's modules. Another one may come first in PATH.
constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kReport = CONSUMERS "/../../report";
constexpr const char* kSaved = CONSUMERS "/../data/heap.jsonl";

bool has_module(const std::string& name) {
  if (run_in_shell("\"$1\" -c \"import $2\"", {kPython, name}).status == 0) return true;
  print_skip(fmt::format("python3-{} is not installed", name));
  return false;
}

ToolRun read_with_example(const std::string& file) {
  return run_in_shell("\"$1\" \"$2/examples/read_snapshot.py\" \"$3\"", {kPython, kReport, file});
}

}  // namespace

TEST_CASE("the JSON of every report is as its schema says") {
  if (!has_module("jsonschema")) return;
  for (const char* name : {"typed_service_debug", "hanging_default", "both_heaps"}) {
    if (is_target_built(name)) continue;
    print_skip(fmt::format("{} was not built", name));
    return;
  }
  LiveTarget service("typed_service_debug");
  LiveTarget hung("hanging_default", {"locks"});
  LiveTarget both("both_heaps");
  const auto pid = [](const LiveTarget& target) { return fmt::format("{}", target.pid()); };
  const std::string trace = CONSUMERS "/../data/trace.jsonl";
  const ToolRun run = run_in_shell(
      "\"$1\" \"$2/schemas.py\" \"$0\" \"$3/schema\" \"$4\" \"$5\" \"$6\" \"$7\" \"$8\"",
      {kPython, CONSUMERS, kReport, pid(service), pid(hung), pid(both), kSaved, trace});
  INFO(run.output << run.errors);
  CHECK(run.status == 0);
  CHECK(run.output == "validated=34\n");
}

TEST_CASE("a reader written from the page on data alone counts what heapattach counts") {
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl.gz");
  if (!is_target_built("typed_service_debug")) {
    print_skip("no Crystal");
    return;
  }
  LiveTarget target("typed_service_debug");
  REQUIRE(run_tool({"-q", "--all", "-o", file, fmt::format("{}", target.pid())}).status == 0);
  for (const std::string& one : {file, std::string(kSaved)}) {
    const ToolRun ours = run_tool({"-q", "--count", "-f", "tsv", one});
    const ToolRun theirs = read_with_example(one);
    INFO(theirs.errors);
    CHECK(theirs.status == 0);
    // heapattach's table has a header line, and an additional row for unreachable objects.
    const auto sorted = "tail -n +2 | grep -v unreachable | sort";
    const std::string expected =
        run_in_shell(fmt::format("printf %s \"$1\" | {}", sorted), {ours.output}).output;
    CHECK(expected.size() > 100);
    CHECK(run_in_shell("printf %s \"$1\" | sort", {theirs.output}).output == expected);
  }
}

TEST_CASE("the reader of the example says that a file was cut off") {
  const TemporaryDirectory directory;
  const std::string plain = directory.file("cut.jsonl");
  const std::string packed = directory.file("cut.jsonl.gz");
  run_in_shell("head -c 5000 \"$1\" >\"$2\"; gzip -c \"$1\" | head -c 700 >\"$3\"",
               {kSaved, plain, packed});
  for (const std::string& file : {plain, packed}) {
    CHECK(run_tool({"-q", "--count", file}).status == 7);
    CHECK(read_with_example(file).status == 7);
  }
  write_text(plain, "{\"record\":\"snapshot\",\"version\":2,\"pid\":1}\n");
  CHECK(read_with_example(plain).status == 1);
}

}  // namespace heapattach
