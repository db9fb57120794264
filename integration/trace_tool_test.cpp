// --trace of a live program, as a user runs it.

#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

constexpr const char* kTarget = "allocating";

// Status 7 is for a busy machine, on which samples may be lost: the table says so.
struct Table {
  explicit Table(const ToolRun& run) {
    INFO(run.output << run.errors);
    REQUIRE((run.status == 0 || run.status == 7));
    REQUIRE(parser.parse(run.output).get(json) == simdjson::SUCCESS);
    drops = std::uint64_t{json["drops"]};
    CHECK((run.status == 0) == bool{json["complete"]});
  }
  [[nodiscard]] std::uint64_t allocations_of(std::string_view function) const {
    for (const auto row : json["rows"]) {
      for (const auto frame : row["frames"]) {
        if (std::string_view{frame} == function) return std::uint64_t{row["allocations"]};
      }
    }
    return 0;
  }

  simdjson::dom::parser parser;
  simdjson::dom::element json;
  std::uint64_t drops = 0;
};

// All its threads run, and its heap has grown.
void wait_until_working(LiveTarget& target) {
  while (target.ask()["rounds"] < 20'000) usleep(1000);
}

// Without the signals: while a program collects, its threads block them for a moment.
std::string difference_at_work(Traces before, pid_t pid) {
  Traces after = traces_of(pid);
  before.signals.clear();
  after.signals.clear();
  return difference(before, after);
}

}  // namespace

TEST_CASE("--trace says which functions of a running program allocate, and how much") {
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
  if (table.drops != 0) return;
  // The collector counts whole blocks, so it counts a little more.
  const double ours = static_cast<double>(std::uint64_t{table.json["total"]["bytes"]});
  const double theirs = static_cast<double>(std::uint64_t{table.json["collector_bytes"]});
  CHECK(ours > 0.75 * theirs);
  CHECK(ours < 1.1 * theirs);
}

TEST_CASE("Ctrl-C ends a trace, which is shown, and leaves the program as it was") {
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
    // It may just have written its report, about samples that were lost or not.
    if (run.output.empty()) {
      CHECK(run.status == 128 + SIGINT);
    } else {
      CHECK((run.status == 0 || run.status == 7));
    }
    CHECK(difference_at_work(before, target.pid()) == "");
  }
  CHECK(target.ask()["bad"] == 0);
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
