// HAZARDS D11: the threads of a function that --call runs in a clone are traced from their first
// instruction, and end with the clone's first thread.

#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sched.h>

#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

ToolRun call(const LiveTarget& target, const std::string& what) {
  return run_tool({"--call", what, "--timeout", "20", std::to_string(target.pid())});
}

void check_unharmed(LiveTarget& target) {
  const Answer before = target.ask();
  CHECK(eventually(30s, [&] { return target.ask().at("beats") > before.at("beats"); }));
  CHECK(children_of(target.pid()).empty());
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace

TEST_CASE("a clone ends with its first thread, whatever its other threads do") {
  LiveTarget target("called");
  const ToolRun left = call(target, "leave_a_thread()");
  CHECK(left.status == 1);
  CHECK_MESSAGE(left.errors.find("exit(5)") != std::string::npos, left.errors);
  check_unharmed(target);
  for (int i = 0; i < rounds(3, 50); ++i) {
    const ToolRun bred = call(target, "breed_and_leave(3)");
    CHECK(bred.status == 1);
    CHECK_MESSAGE(bred.errors.find("exit(3)") != std::string::npos, bred.errors);
    check_unharmed(target);
  }
}

TEST_CASE("no thread of a clone escapes its tracer") {
  LiveTarget target("called");
  const ToolRun hidden = call(target, fmt::format("hide_a_thread({})", CLONE_UNTRACED));
  CHECK_MESSAGE(hidden.output == "-1\n", hidden.output, hidden.errors);
  CHECK_MESSAGE(hidden.errors.find("tried to start a process") != std::string::npos, hidden.errors);
  // The kernel has a different event for each of these kinds of birth, and reports only the
  // requested ones.
  for (const int flags : {0, SIGCHLD, CLONE_VFORK}) {
    ChildProcess tool({tool_path(), "--call", fmt::format("hide_and_rest({})", flags), "--timeout",
                       "60", std::to_string(target.pid())});
    const auto copies = [&] { return children_of(target.pid()); };
    REQUIRE(eventually(
        30s, [&] { return copies().size() == 1 && threads_of(copies().front()).size() == 2; }));
    const pid_t copy = copies().front();
    for (const pid_t thread : threads_of(copy)) {
      const std::string status = read_text(fmt::format("/proc/{}/task/{}/status", copy, thread));
      CHECK_MESSAGE(status.find("TracerPid:\t") != std::string::npos, flags, status);
      CHECK_MESSAGE(status.find("TracerPid:\t0\n") == std::string::npos, flags, status);
    }
    tool.signal(SIGTERM);
    REQUIRE(tool.wait_end(60s).has_value());
    CHECK(eventually(30s, [&] { return copies().empty(); }));
  }
  check_unharmed(target);
}

}  // namespace heapattach
