// --trace --heap malloc of live programs, as a user runs it.

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/child_process.h"
#include "integration/cloning.h"
#include "integration/live_target.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

constexpr const char* kTarget = "malloc_sites";

// The allocations of a function in a table by function; 0 if it is not in the table.
std::uint64_t allocations_of(const ToolRun& run, std::string_view function) {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  REQUIRE(parser.parse(run.output).get(json) == simdjson::SUCCESS);
  for (const auto row : json["rows"]) {
    for (const auto frame : row["frames"]) {
      if (std::string_view{frame} == function) return std::uint64_t{row["allocations"]};
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("a program without a collector is traced in malloc, and exported in each format") {
  LiveTarget target(kTarget, {"2", "free"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  const std::string pid = fmt::format("{}", target.pid());
  const TemporaryDirectory directory;
  const std::string file = directory.file("trace.jsonl.gz");
  const ToolRun recorded =
      run_tool({"-v", "trace", "--for", "1s", "--every", "64k", "-o", file, pid});
  INFO(recorded.errors);
  CHECK((recorded.status == 0 || recorded.status == 7));
  CHECK(recorded.errors.find("traces malloc, calloc, realloc") != std::string::npos);
  CHECK(target.ask()["bad"] == 0);
  CHECK(difference(before, lasting_traces(target)) == "");
  const ToolRun table = run_tool({"-q", "trace", "--by", "function", "-f", "json", file});
  for (const std::string_view place :
       {"make_plain", "make_zeroed", "make_resized", "make_copied"}) {
    CAPTURE(place);
    CHECK(allocations_of(table, place) > 0);
  }
  for (const char* format : {"folded", "html", "speedscope"}) {
    CAPTURE(format);
    const ToolRun exported = run_tool({"-q", "trace", "-f", format, file});
    CHECK((exported.status == 0 || exported.status == 7));
    CHECK(exported.output.find("make_zeroed") != std::string::npos);
  }
  const ToolRun pprof =
      run_in_shell("\"$0\" -q trace -f pprof \"$1\" | gzip -dc | grep -c make_zeroed", {file});
  CHECK(pprof.output != "0\n");
}

TEST_CASE("a preloaded malloc that calls the next one counts once, and is on the stack") {
  ChildProcess target({"/usr/bin/env", "LD_PRELOAD=" + target_path("next_malloc"),
                       target_path(kTarget), "1", "free"});
  REQUIRE(target.read_line(std::chrono::seconds(30)) == "ready");
  const std::string pid = fmt::format("{}", target.pid());
  const TemporaryDirectory directory;
  const std::string file = directory.file("trace.jsonl");
  const ToolRun run = run_tool({"-q", "trace", "--for", "1s", "--every", "16k", "-o", file, pid});
  INFO(run.errors);
  const ToolRun table = run_tool({"-q", "trace", "--by", "function", "-f", "json", file});
  const auto preloaded = static_cast<double>(allocations_of(table, "malloc"));
  const auto zeroed = static_cast<double>(allocations_of(table, "make_zeroed"));
  CHECK(zeroed > 0);
  // For each calloc, which is not preloaded, the program calls malloc 3.125 times.
  CHECK(preloaded > 2.2 * zeroed);
  CHECK(preloaded < 4.2 * zeroed);
  const ToolRun folded = run_tool({"-q", "trace", "-f", "folded", "--full", file});
  CHECK(folded.output.find("make_plain;malloc") != std::string::npos);
  target.signal(SIGKILL);
}

TEST_CASE("a program with a malloc of its own is not traced, and its malloc is named") {
  LiveTarget target("allocates_itself");
  const ToolRun run = run_tool({"trace", "--for", "1s", fmt::format("{}", target.pid())});
  INFO(run.errors);
  CHECK(run.status == 5);
  CHECK(run.errors.find("has a malloc of its own") != std::string::npos);
}

// Another trace that is being installed stops the program, too. malloc's heap may be unreadable at
// that moment; in this program it always is.
TEST_CASE("a program that another process has stopped is refused by that process's name") {
  LiveTarget target("unallocated");
  const pid_t pid = target.pid();
  REQUIRE(::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0);
  REQUIRE(::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, __WALL) == pid);
  const ToolRun run =
      run_tool({"trace", "--heap", "malloc", "--for", "1s", fmt::format("{}", pid)});
  INFO(run.errors);
  CHECK(run.status == 9);
  CHECK(run.errors.find(fmt::format("process {} ", getpid())) != std::string::npos);
  CHECK(::ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0);
}

TEST_CASE("what no sample shows is not said to be nothing") {
  LiveTarget target("malloced");
  const ToolRun run = run_tool({"trace", "--heap", "malloc", "--every", "64M", "--for", "100ms",
                                fmt::format("{}", target.pid())});
  CHECK(run.status == 0);
  INFO(run.errors);
  CHECK(run.errors.find("less than about 64.0 MiB allocated, less than about 64.0 MiB of them "
                        "in use") != std::string::npos);
}

TEST_CASE("a program that the tool starts is traced in malloc if it has no collector") {
  const TemporaryDirectory directory;
  const std::string file = directory.file("trace.json");
  const ToolRun run = run_in_shell(
      "(until grep -qE 'traces malloc|^heapattach: ' \"$3\"; do sleep 0.05; done; printf 'leak "
      "500\\n') | \"$0\" trace -v --every 1 --by function -f json -o \"$2\" -- \"$1\" 1 2>\"$3\"",
      {target_path(kTarget), file, directory.file("steps")});
  INFO(run.output << read_text(directory.file("steps")));
  CHECK(allocations_of(ToolRun{run.status, read_text(file), ""}, "make_lost") == 500);
}

TEST_CASE("--check names the functions of malloc that a trace would follow") {
  LiveTarget target(kTarget, {"1"});
  const ToolRun run = run_tool({"--check", fmt::format("{}", target.pid())});
  INFO(run.output);
  CHECK(run.output.find("calloc", run.output.find("\ntrace ")) != std::string::npos);
}

}  // namespace heapattach
