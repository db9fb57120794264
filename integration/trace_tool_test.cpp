// --trace of a live program, as a user runs it.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/child_process.h"
#include "integration/cloning.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

constexpr const char* kTarget = "allocating";

// A table of a trace. On a busy machine, samples may be lost; then the status is 7 and the table
// says so.
struct Table {
  explicit Table(const ToolRun& run) {
    INFO(run.output << run.errors);
    REQUIRE((run.status == 0 || run.status == 7));
    REQUIRE(parser.parse(run.output).get(json) == simdjson::SUCCESS);
    drops = std::uint64_t{json["drops"]};
    CHECK((run.status == 0) == bool{json["complete"]});
  }
  [[nodiscard]] std::uint64_t allocations_of(std::string_view function) const {
    return number_of(function, "allocations");
  }
  [[nodiscard]] std::uint64_t in_use_of(std::string_view function) const {
    return number_of(function, "in_use_objects");
  }
  [[nodiscard]] std::uint64_t number_of(std::string_view function, const char* column) const {
    for (const auto row : json["rows"]) {
      for (const auto frame : row["frames"]) {
        if (std::string_view{frame} == function) return std::uint64_t{row[column]};
      }
    }
    return 0;
  }

  simdjson::dom::parser parser;
  simdjson::dom::element json;
  std::uint64_t drops = 0;
};

// Waits until all threads of the target run and its heap has grown.
void wait_until_working(LiveTarget& target) {
  while (target.ask()["rounds"] < 20'000) usleep(1000);
}

// The differences in a working program, without blocked signals: during a collection, its threads
// block signals for a moment.
std::string difference_at_work(Traces before, pid_t pid) {
  Traces after = traces_of(pid);
  before.signals.clear();
  after.signals.clear();
  return difference(before, after);
}

}  // namespace

TEST_CASE("--trace shows which functions of a running program allocate, and how much") {
  if (!is_target_built(kTarget)) return print_skip("libgc is not installed");
  LiveTarget target(kTarget, {"2", "free"});
  wait_until_working(target);
  const Traces before_it = traces_of(target.pid());
  const std::string pid = fmt::format("{}", target.pid());
  const TemporaryDirectory directory;
  const std::string file = directory.file("trace.jsonl.gz");
  Answer before = target.ask();
  const ToolRun recorded =
      run_tool({"-q", "trace", "--for", "1s", "--every", "64k", "-o", file, pid});
  Answer after = target.ask();
  INFO(recorded.errors);
  CHECK((recorded.status == 0 || recorded.status == 7));
  CHECK(after["bad"] == 0);
  CHECK(difference_at_work(before_it, target.pid()) == "");

  const Table table(run_tool({"-q", "trace", "--by", "function", "-f", "json", file}));
  const std::vector<std::pair<std::string, std::string>> known = {
      {"make_small", "small"}, {"make_atomic", "atomic"}, {"make_large", "large"}};
  for (const auto& [function, count] : known) {
    CAPTURE(function);
    const auto most = static_cast<double>(after[count] - before[count]);
    CHECK(table.allocations_of(function) > 0);
    CHECK(static_cast<double>(table.allocations_of(function)) < 1.2 * most);
  }
  if (table.drops != 0) return print_figure("samples were lost: exact counts were not compared");
  // The collector counts whole blocks, so it counts a little more.
  const double ours = static_cast<double>(std::uint64_t{table.json["total"]["bytes"]});
  const double theirs = static_cast<double>(std::uint64_t{table.json["collector_bytes"]});
  CHECK(ours > 0.75 * theirs);
  CHECK(ours < 1.1 * theirs);
}

TEST_CASE("Ctrl-C ends a trace, shows it, and leaves the program unchanged") {
  if (!is_target_built(kTarget)) return print_skip("libgc is not installed");
  LiveTarget target(kTarget, {"1", "free"});
  wait_until_working(target);
  const Traces before = traces_of(target.pid());
  const TemporaryDirectory directory;
  const Table table(
      run_in_shell("set -m; \"$0\" trace -v --for 10m -f json \"$1\" 2>\"$2\" & tool=$!; "
                   "until grep -q 'traces GC_' \"$2\" || ! kill -0 $tool; do sleep 0.1; done; "
                   "kill -INT $tool; wait $tool",
                   {fmt::format("{}", target.pid()), directory.file("steps")}));
  CHECK(std::uint64_t{table.json["duration_ns"]} < 600'000'000'000);
  CHECK(difference_at_work(before, target.pid()) == "");
  Answer one = target.ask();
  CHECK(one["bad"] == 0);
}

TEST_CASE("a second Ctrl-C ends a trace without a report, and leaves the program as it was") {
  if (!is_target_built(kTarget)) return print_skip("libgc is not installed");
  LiveTarget target(kTarget, {"1", "free"});
  wait_until_working(target);
  const Traces before = traces_of(target.pid());
  const TemporaryDirectory directory;
  for (int i = 0; i < rounds(3, 30); ++i) {
    const ToolRun run = run_in_shell(
        "set -m; \"$0\" trace -v --for 10m -f json \"$1\" 2>\"$2\" & tool=$!; "
        "until grep -q 'traces GC_' \"$2\" || ! kill -0 $tool; do sleep 0.05; done; "
        "kill -INT $tool; sleep 0.00$3; kill -INT $tool; wait $tool",
        {fmt::format("{}", target.pid()), directory.file("steps"), fmt::format("{}", i % 10)});
    // The tool may have written its report just before, with or without lost samples.
    if (run.output.empty()) {
      CHECK(run.status == 128 + SIGINT);
    } else {
      CHECK((run.status == 0 || run.status == 7));
    }
    CHECK(difference_at_work(before, target.pid()) == "");
  }
  CHECK(target.ask()["bad"] == 0);
}

TEST_CASE("a program that the tool starts is traced from its beginning to its exit") {
  if (!is_target_built(kTarget)) return print_skip("libgc is not installed");
  const TemporaryDirectory directory;
  const std::string file = directory.file("trace.json");
  const ToolRun run = run_in_shell(
      "(until grep -qE 'traces GC_|^heapattach: ' \"$3\"; do sleep 0.05; done; printf 'run "
      "500\\nuntil 1000\\n') "
      "| \"$0\" trace -v --every 1 --by function -f json -o \"$2\" -- \"$1\" 2 2>\"$3\"",
      {target_path(kTarget), file, directory.file("steps")});
  const std::string steps = read_text(directory.file("steps"));
  INFO(run.output << steps);
  CHECK(steps.find("the program exited with status 0") != std::string::npos);
  // The program's own output is the same as without heapattach.
  REQUIRE(run.output.starts_with("ready\n"));
  const std::size_t at = run.output.rfind("\nsmall=");
  REQUIRE(at != std::string::npos);
  const Table table(ToolRun{run.status, read_text(file), ""});
  const auto truth = std::strtoull(run.output.c_str() + at + std::strlen("\nsmall="), nullptr, 10);
  CHECK(truth > 0);
  const std::uint64_t found = table.allocations_of("make_small");
  CHECK(found <= truth);
  CHECK(found + table.drops >= truth);
}

TEST_CASE("--live shows the first rows while it records, and needs a terminal") {
  if (!is_target_built(kTarget)) return print_skip("libgc is not installed");
  LiveTarget target(kTarget, {"1", "free"});
  wait_until_working(target);
  const std::string pid = fmt::format("{}", target.pid());
  const ToolRun piped = run_tool({"trace", "--live", pid});
  CHECK(piped.status == 2);
  CHECK(piped.errors.find("--live needs a terminal") != std::string::npos);
  if (run_in_shell("command -v script", {}).status != 0) return print_skip("script is not here");
  const TemporaryDirectory directory;
  const std::string screen = directory.file("screen");
  const ToolRun run = run_in_shell(
      "set -m; script -qfec \"exec '$0' trace --live --no-mark --for 1m --by function -o '$2' $1\" "
      "\"$3\" "
      "</dev/null >/dev/null & script=$!; "
      "until [[ $(grep -c make_small \"$3\") -ge 2 ]] || ! kill -0 $script; do sleep 0.1; done; "
      "kill -INT $(pgrep -P $script); wait $script",
      {pid, directory.file("trace.txt"), screen});
  const std::string seen = read_text(screen);
  INFO(run.errors << seen);
  // Each table is drawn over the previous one.
  const auto first = seen.find("make_small");
  REQUIRE(first != std::string::npos);
  const auto second = seen.find("make_small", first + 1);
  REQUIRE(second != std::string::npos);
  CHECK(seen.substr(first, second - first).find("\r\x1b[") != std::string::npos);
  CHECK(read_text(directory.file("trace.txt")).find("make_small") != std::string::npos);
  CHECK(target.ask()["bad"] == 0);
}

TEST_CASE("a program does not stay stopped when the tool that starts it is killed") {
  const TemporaryDirectory directory;
  for (int i = 0; i < rounds(3, 30); ++i) {
    const ToolRun run = run_in_shell(
        "rm -f \"$1\"; \"$0\" trace -- bash -c 'echo $$ >\"$0\"; exec sleep 100' \"$1\" "
        "2>/dev/null & tool=$!; until [[ -s $1 ]]; do sleep 0.01; done; sleep 0.0$2; "
        "program=$(<\"$1\"); kill -9 $tool $(pgrep -P $tool); "
        "for i in {1..500}; do grep -q 'State:.S' /proc/$program/status && break; sleep 0.01; "
        "done; "
        "grep State /proc/$program/status; kill $program",
        {directory.file("pid"), fmt::format("{}", i * 3 % 10)});
    INFO(run.errors);
    CHECK(run.output.find("S (sleeping)") != std::string::npos);
  }
}

TEST_CASE("a program that cannot be started is named with the reason") {
  const ToolRun missing = run_tool({"-q", "trace", "--", "/nowhere/app"});
  CHECK(missing.status != 0);
  CHECK(missing.errors.find("starting /nowhere/app: No such file") != std::string::npos);
}

namespace {

// The objects in the program's arrays after this many rounds of each of its threads. Each round
// puts its small object at the round's number, and its atomic object at seven times that.
std::map<std::string, int> kept_after(int rounds, int threads) {
  constexpr int kKept = 4096;
  constexpr int kStep = 7;
  std::map<int, std::string> places;
  for (int round = 0; round < rounds; ++round) {
    places[round % kKept] = "make_small";
    places[round * kStep % kKept] = "make_atomic";
    if (round % 320 == 0) places[round / 320 % kKept] = "make_finalizable";
  }
  std::map<std::string, int> kept;
  for (const auto& [place, function] : places) kept[function] += threads;
  return kept;
}

// Runs the tool while `work` uses the target, and ends it by Ctrl-C.
ToolRun trace_while(const std::vector<std::string>& arguments, const std::function<void()>& work) {
  return run_while_tracing("trace", "traces GC_", arguments, work);
}

}  // namespace

TEST_CASE("what a trace calls in use is what the program can still reach at its end") {
  if (!is_target_built(kTarget)) return print_skip("libgc is not installed");
  constexpr int kThreads = 2;
  constexpr int kRounds = 3000;
  LiveTarget target(kTarget, {fmt::format("{}", kThreads)});
  const std::string pid = fmt::format("{}", target.pid());
  const ToolRun run =
      trace_while({"--every", "1", "--for", "10m", "--by", "function", "-f", "json", pid}, [&] {
        target.ask(fmt::format("run {}", kRounds));
        while (target.ask()["rounds"] < kThreads * kRounds) usleep(1000);
      });
  INFO(run.errors);
  const Table table(run);
  CHECK(run.errors.find("of the trace are unreachable in the heap") != std::string::npos);
  CHECK(run.errors.find("no collection ran") == std::string::npos);
  // Words that look like an address keep a few more objects, and so does each lost release.
  constexpr std::uint64_t kMore = 40;
  const std::uint64_t more = kMore + table.drops;
  for (const auto& [function, count] : kept_after(kRounds, kThreads)) {
    CAPTURE(function);
    if (function == "make_finalizable") continue;  // those wait for their finalizers
    const std::uint64_t found = table.in_use_of(function);
    CHECK(found + table.drops >= static_cast<std::uint64_t>(count));
    CHECK(found <= static_cast<std::uint64_t>(count) + more);
  }
  CHECK(table.allocations_of("make_large") > kMore);
  CHECK(table.in_use_of("make_large") < more);
  CHECK(target.ask()["bad"] == 0);
}

TEST_CASE("a stripped program is traced with a copy that is not stripped, and says so without") {
  if (!is_target_built("known_counters_static")) return;
  const std::string whole_program = target_path("known_counters_static");
  const TemporaryDirectory directory;
  const std::string stripped = directory.file("stripped");
  REQUIRE(run_in_shell("exec strip -o \"$1\" \"$2\"", {stripped, whole_program}).status == 0);
  LiveTarget target(stripped);
  const std::string pid = fmt::format("{}", target.pid());
  const ToolRun refused = run_tool({"trace", pid});
  CHECK(refused.status != 0);
  CHECK(refused.errors.find("has no symbols for the functions that allocate") != std::string::npos);
  CHECK(refused.errors.find("try: --exe FILE, a copy of the same build") != std::string::npos);
  const ToolRun whole = run_tool({"--check", "--exe", whole_program, pid});
  INFO(whole.output);
  CHECK(whole.output.find("GC_malloc_kind") != std::string::npos);
}

TEST_CASE(
    "a program with a function for when memory runs out is traced if nothing in it can throw") {
  if (!is_target_built(kTarget)) return print_skip("libgc is not installed");
  const std::string program = target_path(kTarget);
  std::vector<std::string> words = {program, "1", "free", "oom"};
  SUBCASE("nothing can") {}
  SUBCASE("there is a library for exceptions") {
    words.insert(words.begin(), {"/usr/bin/env", "LD_PRELOAD=libstdc++.so.6"});
  }
  ChildProcess target(words);
  REQUIRE(target.read_line(std::chrono::seconds(30)) == "ready");
  const ToolRun run =
      run_tool({"-q", "trace", "--for", "300ms", "-f", "json", fmt::format("{}", target.pid())});
  INFO(run.errors);
  const bool may_throw = words.size() > 4;
  CHECK((run.output.find("\"rows\"") == std::string::npos) == may_throw);
  CHECK((run.errors.find("if it throws an exception") != std::string::npos) == may_throw);
  target.signal(SIGKILL);
}

TEST_CASE("--check names the functions that a trace would follow") {
  if (!is_target_built(kTarget)) return print_skip("libgc is not installed");
  LiveTarget target(kTarget, {"1"});
  const ToolRun run = run_tool({"--check", fmt::format("{}", target.pid())});
  CHECK(run.status == 0);
  INFO(run.output);
  const auto at = run.output.find("\ntrace ");
  REQUIRE(at != std::string::npos);
  CHECK(run.output.find("GC_malloc_kind", at) != std::string::npos);
  CHECK(run.output.find("it allocates 0 bytes/s now", at) != std::string::npos);
}

}  // namespace heapattach
