// The frames of --stacks are those of gdb and of eu-stack: consumers/frames.py compares them for
// programs that consumers/frames_of_builds.py builds in many ways.

#include <sstream>

#include <doctest/doctest.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

constexpr const char* kBuilds = CONSUMERS "/frames_of_builds.py";

bool is_there(const char* program, const char* package) {
  if (run_in_shell("command -v \"$1\"", {program}).status == 0) return true;
  print_skip(fmt::format("{} is not installed", package));
  return false;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a program's frames are those of gdb and eu-stack, however it was built") {
  if (!is_there("gdb", "gdb") || !is_there("eu-stack", "elfutils")) return;
  const auto builds = lines_of(
      run_in_shell("python3 \"$1\" list \"$2\"", {kBuilds, is_long_run() ? "long" : "short"})
          .output);
  REQUIRE(builds.size() >= 2);
  for (const std::string& build : builds) {
    CAPTURE(build);
    const ToolRun run =
        run_in_shell("python3 \"$1\" run \"$0\" \"$2\" \"$3\"", {kBuilds, TARGETS, build});
    constexpr int kNotHere = 77;
    if (run.status == kNotHere) {
      print_skip(run.output);
      continue;
    }
    CAPTURE(run.output);
    CAPTURE(run.errors);
    CHECK(run.status == 0);
    if (is_long_run()) print_figure(fmt::format("{}: {}", build, run.output));
  }
}

}  // namespace heapattach
