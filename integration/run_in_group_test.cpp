// HAZARDS B2, B3: a control group with the tool in it is killed, or has too little memory, while
// the tool has something in the target. The target is in another group, and continues.

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/control_group.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// The command that starts the tool in the group.
std::vector<std::string> tool_in(const ControlGroup& group, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), tool_path());
  return command_in(group, arguments);
}

void check_unharmed(LiveTarget& target, const std::string& when) {
  const Answer before = target.ask();
  CHECK_MESSAGE(eventually(30s, [&] { return target.ask().at("beats") > before.at("beats"); }),
                when);
  CHECK_MESSAGE(eventually(30s, [&] { return harm_done_to(target.pid()).empty(); }), when, ": ",
                harm_done_to(target.pid()));
}

void check_clean_after_next(LiveTarget& target) {
  CHECK(run_tool({"--stacks", std::to_string(target.pid())}).status == 0);
  CHECK(children_of(target.pid()).empty());
}

}  // namespace

TEST_CASE("a control group is killed with the tool in it, and the target continues") {
  const ControlGroup group(unified_hierarchy(), "cgroup.kill");
  if (!group.exists()) {
    print_skip("no control group of version 2 that can be killed");
    return;
  }
  LiveTarget target("called");
  const std::string pid = std::to_string(target.pid());
  const int times = rounds(8, 200);
  for (int i = 0; i < times; ++i) {
    const bool is_call = i % 2 == 0;
    ChildProcess tool(tool_in(
        group, is_call
                   ? std::vector<std::string>{"--call", "loop_for_ever()", "--timeout", "60", pid}
                   : std::vector<std::string>{"--summary", "--snapshot", "clone", pid}));
    if (i == 0) {
      REQUIRE(eventually(60s, [&] { return !children_of(target.pid()).empty(); }));
    } else {
      ::usleep(static_cast<useconds_t>(std::rand() % 150'000));
    }
    REQUIRE(group.write("cgroup.kill", "1"));
    // The shell may have joined the group only after it was killed.
    if (!tool.wait_end(500ms)) tool.signal(SIGKILL);
    REQUIRE(tool.wait_end(60s).has_value());
    check_unharmed(target, fmt::format("kill {}", i));
  }
  check_clean_after_next(target);
  print_figure(fmt::format("B2: killed {} times with its group; 0 targets harmed", times));
}

TEST_CASE("a control group has too little memory for the tool, and the target continues") {
  const LimitedGroup group(1'000'000);
  if (!group.exists()) return;
  LiveTarget target("called");
  const std::string pid = std::to_string(target.pid());
  int ended = 0;
  const int tries = rounds(6, 100);
  for (int i = 0; i < tries; ++i) {
    // From a limit that kills the tool at once to one that is nearly enough.
    REQUIRE(group.limit(1'000'000 + static_cast<std::uint64_t>(i) * 6'000'000 /
                                        static_cast<std::uint64_t>(tries)));
    ChildProcess tool(
        tool_in(group.group(), {"--call", "with_a_thread(1)", "--timeout", "20", pid}));
    const auto status = tool.wait_end(90s);
    REQUIRE(status.has_value());
    ended += *status != 0 ? 1 : 0;
    check_unharmed(target, fmt::format("limit {}", i));
  }
  CHECK(ended > 0);
  check_clean_after_next(target);
  print_figure(
      fmt::format("D3: {} of {} runs had too little memory; 0 targets harmed", ended, tries));
}

}  // namespace heapattach
