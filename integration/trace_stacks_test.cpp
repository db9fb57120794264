// The stacks of a trace are compared with gdb's for the same calls, in code of several compilers.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "integration/child_process.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"
#include "report/trace/take_trace.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

using Line = std::vector<std::string>;  // the program's own functions up to main, innermost first

bool is_installed(const std::string& program) {
  return run_in_shell("command -v \"$1\"", {program}).status == 0;
}

// The program's functions in a backtrace of gdb: "#2  0x00005585 in inlined (bytes=64) at
// chain.c:20" gives `inlined`.
Line line_of_gdb(pid_t pid) {
  const ToolRun run = run_in_shell(
      "exec gdb -nx -q -batch -p \"$1\" -ex 'break GC_malloc_kind' -ex continue -ex bt </dev/null",
      {fmt::format("{}", pid)});
  std::istringstream lines(run.output);
  Line line;
  for (std::string text; std::getline(lines, text);) {
    if (!text.starts_with("#") || text.find("GC_malloc_kind") != std::string::npos) continue;
    const std::size_t in = text.find(" in ");
    const std::size_t begin = in == std::string::npos ? text.find(' ') : in + 4;
    const std::size_t first = text.find_first_not_of(' ', begin);
    line.push_back(text.substr(first, text.find(' ', first) - first));
  }
  return line;
}

// The lines of functions in a trace, one for each different stack.
std::vector<Line> lines_of_trace(pid_t pid) {
  Request request;
  request.pid = pid;
  trace::TraceOptions options{request};
  options.every = 64;
  options.length = 300ms;
  const auto trace = trace::take_trace(options);
  REQUIRE_MESSAGE(trace, (trace ? "" : trace.error().text()));
  std::vector<Line> lines;
  for (const trace::Stack& stack : trace->stacks) {
    CHECK_FALSE(stack.is_truncated);
    Line line;
    for (const std::uint32_t frame : stack.frames) {
      line.push_back(trace->frames[frame].function);
      if (line.back() == "main") break;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void compare_with_gdb(const std::string& compiler, const std::string& flags) {
  CAPTURE(compiler);
  CAPTURE(flags);
  const TemporaryDirectory directory;
  const std::string program = directory.file("chain");
  const ToolRun compiled =
      run_in_shell("exec \"$1\" -g $2 -o \"$3\" \"$4\" -lgc",
                   {compiler, flags, program, CONSUMERS "/../targets/chain.c"});
  REQUIRE_MESSAGE(compiled.status == 0, compiled.errors);
  ChildProcess chain({program});
  REQUIRE(chain.read_line(30s) == "ready");
  const Line expected = line_of_gdb(chain.pid());
  REQUIRE(expected.size() > 9);
  CHECK(expected.back() == "main");
  const auto found = lines_of_trace(chain.pid());
  CHECK_FALSE(found.empty());
  for (const Line& line : found) {
    CHECK(fmt::format("{}", fmt::join(line, " < ")) ==
          fmt::format("{}", fmt::join(expected, " < ")));
  }
  chain.signal(SIGKILL);
}

}  // namespace

namespace {

using Addresses = std::vector<std::uint64_t>;  // where its calls return to, innermost first

// The stacks that gdb sees in some calls of the allocator, while the target answers a question.
std::vector<Addresses> stacks_of_gdb(LiveTarget& target, const std::string& question) {
  constexpr const char* kCount = "25";
  const TemporaryDirectory directory;
  const std::string ready = directory.file("ready");
  std::atomic<bool> is_done = false;
  ToolRun run;
  std::thread gdb([&] {
    run = run_in_shell(
        "COUNT=$1 READY=$2 timeout 120 gdb -nx -q -batch -p \"$3\" -x \"$4\" </dev/null",
        {kCount, ready, fmt::format("{}", target.pid()), CONSUMERS "/gdb_stacks.py"});
    is_done = true;
  });
  while (!is_done && ::access(ready.c_str(), F_OK) != 0) usleep(10'000);
  while (!is_done) target.ask(question, 120s);
  gdb.join();
  std::vector<Addresses> stacks;
  std::istringstream lines(run.output);
  for (std::string text; std::getline(lines, text);) {
    std::istringstream words(text);
    std::string word;
    if (!(words >> word) || word != "stack") continue;
    Addresses& stack = stacks.emplace_back();
    while (words >> word) stack.push_back(std::stoull(word, nullptr, 16));
  }
  INFO(run.output << run.errors);
  REQUIRE(stacks.size() == std::stoull(kCount));
  return stacks;
}

std::set<Addresses> stacks_of_trace(LiveTarget& target, const std::string& question) {
  int asked = 0;
  const trace::Trace trace = trace_until(target, 1, [&] {
    for (int i = 0; i < 10; ++i) target.ask(question);
    return ++asked == 5;
  });
  std::set<Addresses> stacks;
  for (const trace::Stack& stack : trace.stacks) {
    Addresses addresses;
    for (const std::uint32_t frame : stack.frames) {
      // An inlined frame has the address of the frame around it.
      const std::uint64_t at = trace.frames[frame].address + 1;
      if (addresses.empty() || addresses.back() != at) addresses.push_back(at);
    }
    stacks.insert(addresses);
  }
  return stacks;
}

}  // namespace

TEST_CASE("the stacks of a Crystal program are gdb's: in fibers and threads, optimised or not") {
  if (!is_installed("gdb")) return print_skip("gdb is not installed");
  const std::vector<std::pair<std::string, std::string>> programs = {
      {"workers_default", "first=2"}, {"service_release", "report"}, {"service_threads", "report"}};
  for (const auto& [name, question] : programs) {
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    const auto expected = stacks_of_gdb(target, question);
    const auto found = stacks_of_trace(target, question);
    std::string all;
    for (const Addresses& stack : found) all += fmt::format("{:x}\n", fmt::join(stack, " < "));
    INFO("traced:\n", all);
    for (const Addresses& stack : expected) {
      CHECK_MESSAGE(found.contains(stack), fmt::format("{:x}", fmt::join(stack, " < ")));
    }
  }
}

TEST_CASE("the stacks of a trace are gdb's, frame by frame") {
  if (!is_target_built(kAllocating)) return print_skip("libgc is not installed");
  if (!is_installed("gdb")) return print_skip("gdb is not installed");
  if (!is_installed("gcc")) return print_skip("gcc is not installed");
  compare_with_gdb("gcc", "-O2 -fomit-frame-pointer");
  if (!is_long_run()) return;
  int compared = 1;
  for (const char* const compiler : {"gcc", "clang"}) {
    if (!is_installed(compiler)) continue;
    for (const char* const level : {"-O0", "-O1", "-O2", "-O3"}) {
      for (const char* const frames : {"-fno-omit-frame-pointer", "-fomit-frame-pointer"}) {
        compare_with_gdb(compiler, fmt::format("{} {}", level, frames));
        ++compared;
      }
    }
  }
  print_figure(fmt::format("trace: the stacks of {} builds are gdb's", compared));
}

}  // namespace heapattach
