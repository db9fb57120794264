// The frames of --stacks equal those of gdb and of eu-stack: consumers/frames.py compares them for
// programs that consumers/frames_of_builds.py builds in many ways.

#include <algorithm>
#include <csignal>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/syscall.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/other_releases.h"
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

// Whether the program is in epoll_wait, as one whose fibers all wait.
bool is_waiting(pid_t pid) {
  return read_text(fmt::format("/proc/{}/syscall", pid))
      .starts_with(fmt::format("{} ", SYS_epoll_wait));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Whether frames differ only because gdb or eu-stack has a notation that frames.py does not know. A
// release that was not tried may have one, but writes most frames as other releases do.
bool is_other_notation(const ToolRun& run) {
  static const std::vector<Release> peers{
      release_of("gdb", {"gdb", "--version"}, {"13.1"}),
      release_of("eu-stack", {"eu-stack", "--version"}, {"0.188"})};
  if (run.status == 0) return false;
  for (const Release& peer : peers) {
    if (peer.is_tried) continue;
    print_untried(peer, run.output + run.errors);
    return true;
  }
  return false;
}

// Compares the frames of the builds that begin with these words.
void compare_builds(const std::string& words) {
  if (!is_there("gdb", "gdb") || !is_there("eu-stack", "elfutils")) return;
  const auto builds = lines_of(
      run_in_shell("python3 \"$1\" list \"$2\"", {kBuilds, is_long_run() ? "long" : "short"})
          .output);
  REQUIRE(builds.size() >= 2);
  int of_these_words = 0;
  for (const std::string& build : builds) {
    if (!build.starts_with(words)) continue;
    ++of_these_words;
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
    if (is_other_notation(run)) continue;
    CHECK(run.status == 0);
    if (is_long_run()) print_figure(fmt::format("{}: {}", build, run.output));
  }
  CHECK(of_these_words > 0);
}

}  // namespace

TEST_CASE("a C program's frames are those of gdb and eu-stack, however it was built") {
  compare_builds("c gcc ");
  if (is_long_run()) compare_builds("c clang ");  // the short form has no builds with clang
}

TEST_CASE("a C++ program's frames are those of gdb and eu-stack, however it was built") {
  compare_builds("cxx ");
}

TEST_CASE("if a C library has no tables, the program's own functions are still found") {
  compare_builds("c musl-gcc ");
}

// The program wakes up every few seconds, so it is stopped as a user would stop it.
TEST_CASE("the frames of a Crystal program are those of gdb and eu-stack") {
  if (!is_there("gdb", "gdb") || !is_there("eu-stack", "elfutils")) return;
  struct Program {
    const char* target;
    std::vector<std::string> arguments;
  };
  std::vector<Program> programs = {{"hanging_default", {"locks"}}};
  if (is_long_run()) {
    for (const char* target : {"service_debug", "service_release", "service_static", "web_debug"}) {
      programs.push_back({target, {}});
    }
  }
  for (const Program& program : programs) {
    CAPTURE(program.target);
    if (!is_target_built(program.target)) continue;
    LiveTarget target(program.target, program.arguments);
    REQUIRE(eventually(std::chrono::seconds(30), [&] { return is_waiting(target.pid()); }));
    target.child().signal(SIGSTOP);
    REQUIRE(eventually(std::chrono::seconds(30), [&] {
      const auto threads = threads_of(target.pid());
      return std::all_of(threads.begin(), threads.end(),
                         [&](pid_t tid) { return state_of(target.pid(), tid) == 'T'; });
    }));
    const ToolRun run = run_in_shell("python3 \"$1\" \"$0\" \"$2\"",
                                     {CONSUMERS "/frames.py", std::to_string(target.pid())});
    CAPTURE(run.output);
    CAPTURE(run.errors);
    if (is_other_notation(run)) continue;
    CHECK(run.status == 0);
  }
}

}  // namespace heapattach
