// HAZARDS E9: a process changes its rights while heapattach looks at it. It keeps running, the
// report is complete, and nothing of heapattach's stays in the process.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

bool has_our_code(pid_t pid) {
  return read_text(fmt::format("/proc/{}/maps", pid)).find("heapattach") != std::string::npos;
}

void check_unharmed(LiveTarget& target) {
  const std::int64_t before = target.ask("report").at("made");
  CHECK(eventually(20s, [&] { return target.ask("report").at("made") > before; }));
  CHECK_FALSE(has_our_code(target.pid()));
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace

TEST_CASE("a process that changes its user or drops its rights is traced to the end") {
  if (!is_target_built("changing_user")) return;
  if (::geteuid() != 0) return print_skip("needs root, to become another user");
  for (const char* change : {"user", "capabilities", "undumpable"}) {
    CAPTURE(change);
    LiveTarget target("changing_user");
    ChildProcess tool({tool_path(), "--trace", "--for", "1s", std::to_string(target.pid())});
    REQUIRE(eventually(60s, [&] { return has_our_code(target.pid()) || !tool.is_running(); }));
    (void)target.ask(change);
    const auto end = tool.wait_end(60s);
    REQUIRE(end.has_value());
    CHECK_MESSAGE(*end == 0, tool.read_errors(1s));
    check_unharmed(target);
  }
}

TEST_CASE("a recorder that only root can still take out is reported with the command that does") {
  if (!is_target_built("changing_user")) return;
  if (::geteuid() != 0) return print_skip("needs root, to become another user");
  for (const bool is_recording : {false, true}) {
    CAPTURE(is_recording);
    LiveTarget target("changing_user", {}, {.uid = 1000, .capture_stderr = false});
    const std::string pid = std::to_string(target.pid());
    ChildProcess tool({tool_path(), "-v", "--trace", "--for", "1s", "--timeout", "5", pid},
                      {.uid = 1000});
    std::string errors;
    REQUIRE(eventually(60s, [&] {
      // If it is not recording yet, the recorder is usually still being installed.
      if (is_recording) errors += tool.read_errors(1ms);
      const bool is_time = is_recording ? errors.find("traces GC_") != std::string::npos
                                        : has_our_code(target.pid());
      return is_time || !tool.is_running();
    }));
    (void)target.ask("undumpable");
    const auto end = tool.wait_end(60s);
    REQUIRE(end.has_value());
    errors += tool.read_errors(1s);
    CHECK_MESSAGE(WEXITSTATUS(*end) == 11, errors);
    CHECK_MESSAGE(errors.find("could not remove the recorder") != std::string::npos, errors);
    REQUIRE_MESSAGE(errors.find("heapattach --stacks " + pid) != std::string::npos, errors);
    CHECK(has_our_code(target.pid()));
    // As root, the command does what the message says.
    const ToolRun run = run_tool({"--stacks", pid});
    CHECK_MESSAGE(run.status == 0, run.errors);
    check_unharmed(target);
  }
}

TEST_CASE("a process may change its user at any moment of a freeze or a copy") {
  if (!is_target_built("changing_user")) return;
  if (::geteuid() != 0) return print_skip("needs root, to become another user");
  const std::vector<std::vector<std::string>> reports{
      {"--count"}, {"--count", "--snapshot", "clone"}, {"--stacks"}};
  for (int round = 0; round < rounds(6, 200); ++round) {
    const auto& report = reports[static_cast<std::size_t>(round) % reports.size()];
    CAPTURE(report);
    LiveTarget target("changing_user");
    std::vector<std::string> command{tool_path()};
    command.insert(command.end(), report.begin(), report.end());
    command.push_back(std::to_string(target.pid()));
    ChildProcess tool(command);
    ::usleep(static_cast<useconds_t>(round * 7919 % 250) * 1000);
    CHECK(target.ask("user").at("uid") == 1000);
    const auto end = tool.wait_end(60s);
    REQUIRE(end.has_value());
    CHECK_MESSAGE(*end == 0, tool.read_errors(1s));
    check_unharmed(target);
  }
}

}  // namespace heapattach
