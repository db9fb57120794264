// HAZARDS E11: each system call in attach/ can fail, and the target does not notice.
// attach/base/fault_points.h describes the points and how to choose one; they exist only in builds
// with HEAPATTACH_FAULT_POINTS.

#include "attach/base/fault_points.h"

#include <cerrno>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// Puts the choice of a fault into the environment of programs that are started while this exists.
class ChosenFault {
 public:
  explicit ChosenFault(const std::string& choice) {
    ::setenv("HEAPATTACH_FAULT", choice.c_str(), 1);
  }
  ~ChosenFault() { ::unsetenv("HEAPATTACH_FAULT"); }
  ChosenFault(const ChosenFault&) = delete;
  ChosenFault& operator=(const ChosenFault&) = delete;
};

struct Outcome {
  int frozen = 0;
  int refused = 0;
};

// Runs the tool with the fault; it freezes the target twice. It must end by itself, and in time.
void run_with_fault(LiveTarget& target, const std::string& choice, Outcome& outcome) {
  const ChosenFault fault(choice);
  ChildProcess tool({FREEZE_TOOL, std::to_string(target.pid()), "2"});
  const std::string output = tool.read_rest(5s);
  const auto status = tool.wait_end(1s);
  REQUIRE_MESSAGE(status.has_value(), "fault ", choice, " makes it hang: ", output);
  REQUIRE_MESSAGE(WIFEXITED(*status), "fault ", choice, " ends it by signal ", WTERMSIG(*status));
  const int exit_code = WEXITSTATUS(*status);
  CHECK_MESSAGE((exit_code == 0 || exit_code == 1), "fault ", choice, ": ", exit_code);
  if (exit_code == 0) {
    ++outcome.frozen;
  } else {
    ++outcome.refused;
    CHECK_MESSAGE(output.find(": ") != std::string::npos, "fault ", choice, " is not explained");
  }
  CHECK_MESSAGE(eventually(1s, [&] { return harm_done_to(target.pid()).empty(); }), "fault ",
                choice, ": ", harm_done_to(target.pid()));
}

}  // namespace

TEST_CASE("a thread that is refused once, as its tracer just left, is frozen") {
  LiveTarget target("pipeline");
  Outcome outcome;
  run_with_fault(target, fmt::format("{}:{}:1", static_cast<int>(FaultPoint::Seize), EPERM),
                 outcome);
  CHECK(outcome.frozen == 1);
}

TEST_CASE("whichever system call fails, the target is unharmed and the tool ends") {
  LiveTarget target("pipeline");
  Outcome outcome;
  int runs = 0;
  for (std::size_t point = 1; point <= kFaultPoints; ++point) {
    for (const int failure : {EIO, EPERM, ESRCH, ENOMEM, EINTR}) {
      // A kernel returns EINTR once. If it always did, the call would never succeed.
      for (const int hit : {0, 1, 2, 5, 11}) {
        if (failure == EINTR && hit == 0) continue;
        run_with_fault(target, fmt::format("{}:{}:{}", point, failure, hit), outcome);
        ++runs;
      }
    }
  }
  const Answer answer = target.ask("stop");
  print_figure(
      fmt::format("E11: {} fault points, {} runs: {} frozen all the same, {} refused; lost "
                  "{}, doubled {}",
                  kFaultPoints, runs, outcome.frozen, outcome.refused, answer.at("lost"),
                  answer.at("doubled")));
  CHECK(outcome.frozen > 0);
  CHECK(outcome.refused > 0);
  CHECK(answer.at("lost") == 0);
  CHECK(answer.at("doubled") == 0);
  CHECK(answer.at("bad") == 0);
  CHECK(answer.at("early") == 0);
}

}  // namespace heapattach
