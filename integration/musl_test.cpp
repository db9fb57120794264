// The heap of musl's malloc, read from outside, is compared with the target's own counts: in every
// form of program, inside malloc, and in copies of the process.

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

bool has_musl() {
  if (is_target_built("musl_heap")) return true;
  print_skip("no musl-gcc");
  return false;
}

std::string pid_of(const LiveTarget& target) {
  return fmt::format("{}", target.pid());
}

std::int64_t sum_of(const element& rows, std::string_view key) {
  std::int64_t sum = 0;
  for (const element row : simdjson::dom::array(rows)) sum += std::int64_t(row[key]);
  return sum;
}

// Checks the allocations in use, reachable or not, each with the size that the program asked for.
void check_in_use(const Answer& truth, const std::vector<std::string>& source) {
  std::vector<std::string> arguments{"count", "--all", "-f", "json"};
  arguments.insert(arguments.end(), source.begin(), source.end());
  const ToolRun run = run_tool(arguments);
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  CHECK(sum_of(report["types"], "objects") == truth.at("in_use"));
  CHECK(sum_of(report["types"], "bytes") == truth.at("bytes") + truth.at("zeros"));
}

void check_leaks(const Answer& truth, const std::vector<std::string>& source) {
  std::vector<std::string> arguments{"leaks", "-f", "json"};
  arguments.insert(arguments.end(), source.begin(), source.end());
  const ToolRun run = run_tool(arguments);
  INFO(run.errors, run.output);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output.substr(run.output.find("{\"")));
  CHECK(std::int64_t(report["objects"]) == truth.at("leaked"));
  CHECK(std::int64_t(report["bytes"]) == truth.at("leaked_bytes"));
  CHECK(std::int64_t(report["leaks"]) == truth.at("leaks"));
}

}  // namespace

TEST_CASE("musl's heap has what the program has not freed, shared, static and static PIE") {
  if (!has_musl()) return;
  const std::string objects = fmt::format("{}", rounds(5'000, 1'000'000));
  for (const std::string form :
       {"musl_heap", "musl_heap_stripped", "musl_heap_static", "musl_heap_static_pie"}) {
    CAPTURE(form);
    LiveTarget target(form, {objects});
    check_in_use(target.greeting(), {pid_of(target)});
    check_leaks(target.greeting(), {pid_of(target)});
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("what musl's C library holds for the program is not leaked") {
  if (!has_musl()) return;
  for (const std::string form : {"musl_heap", "musl_heap_static"}) {
    CAPTURE(form);
    LiveTarget target(form, {"5000", "library"});
    const Answer& truth = target.greeting();
    check_leaks(truth, {pid_of(target)});
    check_leaks(truth, {"--confirm", "50ms", pid_of(target)});
    check_leaks(truth, {"--heap", "malloc", "--snapshot", "clone", pid_of(target)});
  }
}

TEST_CASE("a musl program is looked at when it is about to exit") {
  if (!has_musl()) return;
  for (const std::string form : {"musl_heap", "musl_heap_static_pie"}) {
    CAPTURE(form);
    const ToolRun run = run_in_shell("\"$0\" leaks --at-exit -f json -- \"$1\" 5000 </dev/null",
                                     {target_path(form)});
    INFO(run.errors, run.output);
    REQUIRE(run.status == 0);
    CHECK(run.output.find("\"objects\":145,") != std::string::npos);
    CHECK(run.output.find("\"leaks\":55,") != std::string::npos);
  }
}

TEST_CASE("stops in the midst of musl's malloc give no false leak with --confirm") {
  if (!has_musl()) return;
  for (const std::string form : {"musl_mallocing", "musl_mallocing_static"}) {
    CAPTURE(form);
    LiveTarget target(form);
    const int stops = rounds(6, 500);
    for (int stop = 0; stop < stops; ++stop) {
      CAPTURE(stop);
      const ToolRun run = run_tool({"leaks", "--confirm", "20ms", "-f", "json", pid_of(target)});
      INFO(run.errors, run.output);
      REQUIRE(run.status == 0);
      simdjson::dom::parser parser;
      const element report = parser.parse(run.output);
      CHECK(std::int64_t(report["objects"]) == target.greeting().at("leaked"));
      CHECK(std::int64_t(report["bytes"]) == 40 * target.greeting().at("leaked"));
    }
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("copies of a musl process have the same heap: a saved snapshot, its page, a core file") {
  if (!has_musl()) return;
  LiveTarget target("musl_heap_static");
  const Answer& truth = target.greeting();
  const TemporaryDirectory directory;
  const std::string file = directory.file("musl.jsonl");
  REQUIRE(run_tool({"--all", "-o", file, pid_of(target)}).status == 0);
  CHECK(read_text(file).find("\"collector\":{\"name\":\"musl\"") != std::string::npos);
  check_leaks(truth, {file});
  const ToolRun page = run_tool({"-f", "html", "-o", directory.file("musl.html"), file});
  CHECK(page.status == 0);
  const ToolRun dumped =
      run_in_shell("command -v gcore >/dev/null || exit 77; exec gcore -o \"$1\" \"$2\" </dev/null",
                   {directory.file("core"), pid_of(target)});
  if (dumped.status == 77) return print_skip("no gcore");
  REQUIRE(dumped.status == 0);
  const std::string core = directory.file("core." + pid_of(target));
  check_in_use(truth, {core});
  check_leaks(truth, {core});
}

TEST_CASE("paths, the summary and the diagnosis of a musl process are those of malloc's heap") {
  if (!has_musl()) return;
  LiveTarget target("musl_heap", {"5000", "library"});
  const Answer& truth = target.greeting();
  const ToolRun why = run_tool({"why", fmt::format("{:#x}", truth.at("last")), pid_of(target)});
  INFO(why.errors, why.output);
  CHECK(why.status == 0);
  CHECK(why.output.find("global first of target_musl_heap") != std::string::npos);
  CHECK(why.output.find("next → ") != std::string::npos);

  const ToolRun summary = run_tool({"summary", "-f", "json", pid_of(target)});
  INFO(summary.errors, summary.output);
  REQUIRE(summary.status == 0);
  simdjson::dom::parser parser;
  const element report = parser.parse(summary.output);
  const element heap = report["heap"];
  CHECK(std::int64_t(heap["leaked_bytes"]) == truth.at("leaked_bytes"));
  std::int64_t sum = 0;
  for (const char* part : {"live_bytes", "unreachable_bytes", "overhead_bytes", "free_bytes"}) {
    sum += std::int64_t(heap[part]);
  }
  CHECK(sum == std::int64_t(heap["heap_bytes"]));
  CHECK(std::int64_t(heap["groups"]) > 10);

  const ToolRun diagnosis = run_tool({"diagnose", "-f", "json", pid_of(target)});
  INFO(diagnosis.errors, diagnosis.output);
  CHECK(diagnosis.output.find("\"leaking\"") != std::string::npos);
  const ToolRun check = run_tool({"check", "-f", "json", pid_of(target)});
  INFO(check.errors, check.output);
  CHECK(check.status == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
