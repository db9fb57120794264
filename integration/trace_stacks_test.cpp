// The stacks of a trace beside those of gdb, of the same calls, as compilers make them.

#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/child_process.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"
#include "report/trace/take_trace.h"

using namespace heapattach;

namespace {

using namespace std::chrono_literals;

using Line = std::vector<std::string>;  // the program's own functions up to main, innermost first

bool is_installed(const std::string& program) {
  return run_in_shell("command -v \"$1\"", {program}).status == 0;
}

// "#2  0x00005585 in inlined (bytes=64) at chain.c:20" is `inlined`.
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

// One for each different stack.
std::vector<Line> lines_of_trace(pid_t pid) {
  trace::TraceOptions options;
  options.pid = pid;
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
