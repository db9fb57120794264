// HAZARDS A9: threads that cannot be stopped are reported, not waited for, and continue unharmed.

#include <doctest/doctest.h>

#include "integration/control_group.h"
#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

int threads_without_registers(const FreezeReport& report) {
  int count = 0;
  for (const FrozenThread& thread : report.threads) count += thread.registers ? 0 : 1;
  return count;
}

// Freezes a control group for as long as it exists. It must end before the target does, because a
// process that the older freezer holds cannot even be killed.
class Freezer {
 public:
  Freezer(const ControlGroup& group, const char* file, const char* hold, const char* release)
      : group_(group), file_(file), release_(release) {
    REQUIRE(group_.write(file_, hold));
  }
  ~Freezer() { CHECK(group_.write(file_, release_)); }
  Freezer(const Freezer&) = delete;
  Freezer& operator=(const Freezer&) = delete;

 private:
  const ControlGroup& group_;
  const char* file_;
  const char* release_;
};

// Freezes a target that a control group already holds. Whatever the outcome, the freeze must end
// soon.
void try_to_freeze(pid_t pid, const char* what) {
  const auto start = std::chrono::steady_clock::now();
  const auto report = freeze_once(pid);
  const double took = in_milliseconds(std::chrono::steady_clock::now() - start);
  const std::string outcome =
      report ? fmt::format("frozen, {} of {} threads not stopped",
                           threads_without_registers(*report), report->threads.size())
             : why(report);
  print_figure(fmt::format("A9: {}: after {:.0f} ms: {}", what, took, outcome));
  CHECK(took < 3000);
  if (!report) CHECK_MESSAGE(report.error().kind == ErrorKind::Timeout, why(report));
  CHECK(status_line(pid, "TracerPid") == "0");
}

// The first line of a diagnosis names the group.
void check_is_called_stopped(pid_t pid, const ControlGroup& group) {
  const ToolRun run = run_tool({"diagnose", std::to_string(pid)});
  const std::string line =
      fmt::format("stopped: the control group {} is frozen", group.path().string());
  CHECK_MESSAGE(run.output.starts_with(line), run.output, run.errors);
}

}  // namespace

TEST_CASE("a thread that waits for its vfork child is reported, not waited for") {
  LiveTarget target("forker", {"vfork", "1500"});
  REQUIRE(eventually(2s, [&] {
    for (const pid_t tid : threads_of(target.pid())) {
      if (state_of(target.pid(), tid) == 'D') return true;
    }
    return false;
  }));
  const auto start = std::chrono::steady_clock::now();
  const auto report = freeze_once(target.pid());
  const double took = in_milliseconds(std::chrono::steady_clock::now() - start);
  REQUIRE_MESSAGE(report.has_value(), why(report));
  print_figure(
      fmt::format("A9: vfork parent: {} of {} threads not stopped, released after {:.0f} "
                  "ms",
                  threads_without_registers(*report), report->threads.size(), took));
  CHECK(threads_without_registers(*report) == 1);
  CHECK(took < 1200);
  CHECK(harm_done_to(target.pid()) == "");
  const Answer answer = target.ask("stop");
  CHECK(answer.at("made") >= 1);
  CHECK(answer.at("wrong") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("vfork parents survive many freezes unharmed") {
  LiveTarget target("forker", {"vfork", "20"});
  FreezeOptions options;
  options.thread_deadline = 100ms;
  for (int round = 0; round < rounds(50, 500); ++round) {
    const auto report = freeze_once(target.pid(), options);
    REQUIRE_MESSAGE(report.has_value(), why(report));
    REQUIRE(status_line(target.pid(), "TracerPid") == "0");
  }
  const Answer answer = target.ask("stop");
  CHECK(answer.at("made") > 5);
  CHECK(answer.at("wrong") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a target in the freezer of control groups, version 1, stays frozen") {
  const ControlGroup group("/sys/fs/cgroup/freezer", "freezer.state");
  if (!group.exists()) {
    print_skip("no freezer of control groups version 1 that we may use");
    return;
  }
  LiveTarget target("sleeper");
  REQUIRE(group.write("cgroup.procs", std::to_string(target.pid())));
  {
    const Freezer freezer(group, "freezer.state", "FROZEN", "THAWED");
    CHECK(eventually(2s, [&] { return group.read("freezer.state") == "FROZEN\n"; }));
    try_to_freeze(target.pid(), "freezer version 1");
    check_is_called_stopped(target.pid(), group);
    CHECK(group.read("freezer.state") == "FROZEN\n");
  }
  CHECK(eventually(2s, [&] { return harm_done_to(target.pid()).empty(); }));
  CHECK(target.ask().at("early") == 0);
  const auto report = freeze_once(target.pid());
  CHECK_MESSAGE(report.has_value(), why(report));
}

TEST_CASE("a target in the freezer of control groups, version 2, stays frozen") {
  const ControlGroup group(unified_hierarchy(), "cgroup.freeze");
  if (!group.exists()) {
    print_skip("no freezer of control groups version 2 that we may use");
    return;
  }
  LiveTarget target("sleeper");
  REQUIRE(group.write("cgroup.procs", std::to_string(target.pid())));
  const auto is_held = [&] {
    return group.read("cgroup.events").find("frozen 1") != std::string::npos;
  };
  {
    const Freezer freezer(group, "cgroup.freeze", "1", "0");
    CHECK(eventually(2s, is_held));
    try_to_freeze(target.pid(), "freezer version 2");
    check_is_called_stopped(target.pid(), group);
    CHECK(eventually(2s, is_held));
  }
  CHECK(eventually(2s, [&] { return harm_done_to(target.pid()).empty(); }));
  CHECK(target.ask().at("early") == 0);
}

}  // namespace heapattach
