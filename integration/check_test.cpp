// --check: its results are true, and the process does not notice it.

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

ToolRun check(pid_t pid, std::vector<std::string> more = {}, const ChildOptions& options = {}) {
  more.insert(more.begin(), {"--check", std::to_string(pid)});
  return run_tool(more, options);
}

bool says(const ToolRun& run, const std::string& text) {
  return run.output.find(text) != std::string::npos;
}

// How often the first thread has left a processor. A blocked thread does not, unless it is stopped.
std::string switches_of(pid_t pid) {
  return status_line(pid, "voluntary_ctxt_switches") + " " +
         status_line(pid, "nonvoluntary_ctxt_switches");
}

}  // namespace

TEST_CASE("--check reports what a snapshot would find, and neither stops nor changes the process") {
  if (!is_target_built("still")) {
    print_skip("no libgc-dev");
    return;
  }
  LiveTarget target("still", {"5000"});
  const Answer truth = target.ask();
  REQUIRE(eventually(5s, [&] { return state_of(target.pid(), target.pid()) == 'S'; }));
  const Traces before = traces_of(target.pid());
  const std::string switches = switches_of(target.pid());
  const ToolRun table = check(target.pid());
  const ToolRun json = check(target.pid(), {"-f", "json"});
  CHECK(switches_of(target.pid()) == switches);
  CHECK(difference(before, traces_of(target.pid())) == "");
  CHECK_MESSAGE(table.status == 0, table.output, table.errors);
  CHECK_MESSAGE(says(table, "nothing prevents a snapshot"), table.output);
  CHECK_MESSAGE(says(table, "1: 1 sleeping"), table.output);
  CHECK(json.status == 0);
  CHECK_MESSAGE(says(json, fmt::format("\"heap_bytes\":{},", truth.at("heap"))), json.output);
  CHECK_MESSAGE(says(json, "\"ok\":true"), json.output);
  CHECK(target.ask().at("sum") == truth.at("sum"));
}

TEST_CASE("--check of a collector without symbols, linked statically, has its heap") {
  const std::string name = "known_counters_stripped";
  if (!is_target_built(name)) {
    print_skip("no libgc.a");
    return;
  }
  LiveTarget target(name);
  const Answer truth = target.ask();
  const ToolRun json = check(target.pid(), {"-f", "json"});
  CHECK_MESSAGE(json.status == 0, json.output);
  CHECK_MESSAGE(says(json, fmt::format("\"heap_bytes\":{},", truth.at("heap"))), json.output);
  CHECK_MESSAGE(says(json, "\"malloc\":true"), json.output);
}

TEST_CASE("--check names the obstacle, and ends with its status") {
  SUBCASE("no collector") {
    LiveTarget target("plain");
    const ToolRun run = check(target.pid(), {"--heap", "gc"});
    CHECK_MESSAGE(run.status == 5, run.output, run.errors);
    CHECK_MESSAGE(says(run, "no snapshot can be taken"), run.output);
    CHECK(target.ask().at("interrupted") == 0);
  }
  SUBCASE("another tracer") {
    LiveTarget target("plain");
    ChildProcess tracer({FREEZE_TOOL, std::to_string(target.pid()), "1", "60000"});
    REQUIRE(eventually(10s, [&] { return status_line(target.pid(), "TracerPid") != "0"; }));
    const ToolRun run = check(target.pid());
    CHECK_MESSAGE(run.status == 9, run.output, run.errors);
    CHECK_MESSAGE(says(run, "traces it already"), run.output);
  }
  SUBCASE("a process that does not exist") {
    CHECK(check(4194303).status == 3);
  }
}

TEST_CASE("--check knows when a seccomp filter that we may not read forbids a clone") {
  if (!is_target_built("still")) {
    print_skip("no libgc-dev");
    return;
  }
  LiveTarget target("filtered", {std::to_string(SYS_ptrace), "--", target_path("still")});
  const std::string pid = std::to_string(target.pid());
  const ToolRun run = run_in_shell(
      "[ $(id -u) != 0 ] || drop='setpriv --bounding-set=-sys_admin'; $drop \"$0\" --check \"$1\"",
      {pid});
  CHECK_MESSAGE(run.status == 0, run.output, run.errors);
  CHECK_MESSAGE(says(run, "no clone"), run.output);
  CHECK_MESSAGE(says(run, "seccomp"), run.output);
  CHECK_MESSAGE(says(run, "a snapshot can be taken"), run.output);
}

TEST_CASE("--check names the rule that keeps another user out") {
  if (::geteuid() != 0) {
    print_skip("running as another user needs root");
    return;
  }
  LiveTarget target("plain");
  const ToolRun run = check(target.pid(), {}, {.uid = 1000});
  CHECK_MESSAGE(run.status == 4, run.output, run.errors);
  CHECK_MESSAGE(says(run, "belongs to user 0"), run.output);
  const std::string pid = std::to_string(target.pid());
  const std::vector<std::vector<std::string>> reports = {{"count", pid},
                                                         {"stacks", pid},
                                                         {"summary", pid},
                                                         {"call", "getpid()", pid},
                                                         {"-f", "jsonl", pid}};
  for (const auto& arguments : reports) {
    const ToolRun refused = run_tool(arguments, {.uid = 1000});
    CAPTURE(arguments.front());
    CHECK_MESSAGE(refused.status == 4, refused.errors);
    CHECK_MESSAGE(refused.errors.find("belongs to user 0") != std::string::npos, refused.errors);
    CHECK_MESSAGE(refused.errors.find("run as root") != std::string::npos, refused.errors);
  }
  CHECK(target.ask().at("interrupted") == 0);
}

}  // namespace heapattach
