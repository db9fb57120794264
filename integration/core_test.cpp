// Core files of gcore and of the kernel give the same reports as the process itself, except for
// facts that no core file has; the reports mention these.

#include <csignal>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

namespace files = std::filesystem;

// Stops a target, so that it gives the same answers each time.
void stop(LiveTarget& target) {
  target.child().signal(SIGSTOP);
  REQUIRE(eventually(30s, [&] {
    for (const pid_t tid : threads_of(target.pid())) {
      if (state_of(target.pid(), tid) != 'T') return false;
    }
    return true;
  }));
}

ToolRun good(const std::vector<std::string>& arguments) {
  ToolRun run = run_tool(arguments);
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  return run;
}

std::string output_of(const std::vector<std::string>& arguments) {
  return good(arguments).output;
}

// Lines of a snapshot, without its header and what a core file lacks about threads and waits.
std::string comparable(const std::string& snapshot) {
  static const std::regex kThread(R"re((\{"record":"thread","tid":\d+)[^\n]*)re");
  static const std::regex kTold(
      R"re(,"(left_s|descriptor|process|may_have_limit)":("[^"]*"|[0-9.]+|true))re");
  const std::string lines =
      std::regex_replace(snapshot.substr(snapshot.find('\n') + 1), kThread, "$1");
  return std::regex_replace(lines, kTold, "");
}

// Stacks as JSON, each frame on a line, without what a core file lacks.
std::string comparable_stacks(std::string stacks) {
  static const std::regex kThread(R"re(("tid":\d+),("name":"[^"]*",)?("state":".",)?)re");
  static const std::regex kTold(
      R"re("(wait_channel|call|cpu_s|load|pause_ms|left_s|descriptor)":("[^"]*"|[0-9.]+),?)re");
  static const std::regex kCore(R"re("core":\{[^}]*\},)re");
  stacks = std::regex_replace(stacks, kThread, "$1,");
  stacks = std::regex_replace(stacks, kTold, "");
  stacks = std::regex_replace(stacks, std::regex(R"re(,\})re"), "}");
  stacks = std::regex_replace(stacks, kCore, "");
  static const std::regex kEach(R"re(\{)re");
  return std::regex_replace(stacks, kEach, "\n{");
}

// The first line in which the two texts differ.
std::string difference_of(const std::string& a, const std::string& b) {
  std::istringstream lines_a(a);
  std::istringstream lines_b(b);
  std::string line_a;
  std::string line_b;
  for (;;) {
    const bool has_a = static_cast<bool>(std::getline(lines_a, line_a));
    const bool has_b = static_cast<bool>(std::getline(lines_b, line_b));
    if (!has_a && !has_b) return {};
    if (has_a != has_b || line_a != line_b) return line_a + "\n" + line_b;
  }
}

// The path to which the kernel writes a core file of this process; empty if that cannot be
// predicted.
std::string kernel_core_of(pid_t pid) {
  std::string pattern = read_text("/proc/sys/kernel/core_pattern");
  while (!pattern.empty() && pattern.back() == '\n') pattern.pop_back();
  const bool has_pid = read_text("/proc/sys/kernel/core_uses_pid") != "0\n";
  if (pattern.find_first_of("|%/") != std::string::npos || pattern.empty()) return {};
  const auto directory = files::read_symlink(fmt::format("/proc/{}/cwd", pid));
  return (directory / (has_pid ? fmt::format("{}.{}", pattern, pid) : pattern)).string();
}

// Makes the kernel end a stopped target with a core file, and moves that to the given path.
bool end_with_core(LiveTarget& target, const std::string& wanted) {
  const std::string core = kernel_core_of(target.pid());
  if (core.empty()) return false;
  files::remove(core);
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  REQUIRE(::prlimit(target.pid(), RLIMIT_CORE, &unlimited, nullptr) == 0);
  target.child().signal(SIGABRT);
  target.child().signal(SIGCONT);
  REQUIRE(target.child().wait_end(60s).has_value());
  REQUIRE(files::exists(core));
  files::copy_file(core, wanted);
  files::remove(core);
  return true;
}

// Writes a core file of the process with gcore; the process does not change. Empty if there is no
// gcore.
std::string write_gcore(pid_t pid, const TemporaryDirectory& directory) {
  const std::string prefix = directory.file("gcore");
  const ToolRun run =
      run_in_shell("command -v gcore >/dev/null || exit 77; exec gcore -o \"$1\" \"$2\" </dev/null",
                   {prefix, std::to_string(pid)});
  if (run.status == 77) return {};
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  return fmt::format("{}.{}", prefix, pid);
}

// Compares the reports on a process with those on its core file.
void check_same(const std::string& snapshot, const std::string& stacks, const std::string& core) {
  const std::string from_core = output_of({core});
  CHECK(from_core.substr(0, from_core.find('\n')).find("\"source\":\"core\"") != std::string::npos);
  CHECK(difference_of(comparable(snapshot), comparable(from_core)) == "");
  const ToolRun core_stacks = good({"--stacks", "-f", "json", core});
  CHECK(core_stacks.errors == "");
  CHECK(difference_of(comparable_stacks(stacks), comparable_stacks(core_stacks.output)) == "");
  CHECK(output_of({"--summary", core}).find("not available for a core file") != std::string::npos);
}

void check_gcore_and_kernel(const std::string& name, bool with_kernel) {
  CAPTURE(name);
  if (!is_target_built(name)) return;
  LiveTarget target(name);
  stop(target);
  const TemporaryDirectory directory;
  const std::string pid = std::to_string(target.pid());
  const std::string snapshot = output_of({"--max-pause", "60000", pid});
  const std::string stacks = output_of({"--stacks", "--max-pause", "60000", "-f", "json", pid});
  const std::string core = write_gcore(target.pid(), directory);
  if (core.empty()) {
    print_skip("no gcore");
    return;
  }
  check_same(snapshot, stacks, core);
  const std::string kernels = directory.file("kernel.core");
  if (!with_kernel) return;
  if (!end_with_core(target, kernels)) {
    print_skip("no plain file name in core_pattern");
    return;
  }
  check_same(snapshot, stacks, kernels);
  const ToolRun text = good({"--stacks", kernels});
  CHECK(text.output.find("from a core file of signal 6 SIGABRT in thread " + pid) !=
        std::string::npos);
}

}  // namespace

TEST_CASE("core files of a C program give the same reports as the process") {
  check_gcore_and_kernel("typed_c_gcc4", true);
}

TEST_CASE("core files of a C++ program give the same reports as the process") {
  check_gcore_and_kernel("typed_cxx_gcc5", false);
}

TEST_CASE("core files of a Crystal program give the same reports as the process") {
  check_gcore_and_kernel("typed_service_default", true);
}

}  // namespace heapattach
