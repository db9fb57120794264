// HAZARDS B2 and B3 for the tool itself: any signal may end it at any moment of a count, before, in
// and after the freeze, and the target continues.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> count_of(const LiveTarget& target) {
  return {tool_path(), "--count", "-q", "-o", "/dev/null", "--force", std::to_string(target.pid())};
}

// How long an undisturbed count takes, so that the signals fall on all of its stages.
int microseconds_of_a_count(const LiveTarget& target) {
  const auto start = Clock::now();
  ChildProcess tool(count_of(target));
  const auto status = tool.wait_end(60s);
  REQUIRE(status.has_value());
  // Status 7: a collection was running, as nearly always in this target.
  const bool is_done =
      WIFEXITED(*status) && (WEXITSTATUS(*status) == 0 || WEXITSTATUS(*status) == 7);
  CHECK_MESSAGE(is_done, "status ", *status, ": ", tool.read_errors(1s));
  return static_cast<int>((Clock::now() - start) / 1us);
}

bool is_expected_end(int number, int status) {
  // The signal came before the tool had installed its handlers, or is SIGHUP.
  if (WIFSIGNALED(status)) return WTERMSIG(status) == number;
  // The tool may have finished just before the signal; otherwise it was interrupted.
  const int code = WEXITSTATUS(status);
  return code == 0 || code == 7 || code == 128 + number;
}

}  // namespace

TEST_CASE("a count ended by a signal at any moment leaves its target unharmed") {
  if (!std::filesystem::exists(target_path("collecting"))) {
    print_skip("libgc-dev is not installed");
    return;
  }
  LiveTarget target("collecting", {"4"});
  const int whole = microseconds_of_a_count(target);
  int while_held = 0;
  for (const int number : {SIGKILL, SIGINT, SIGTERM, SIGHUP}) {
    const int held_before = while_held;
    double release_ms = 0;
    const int times = rounds(50, 250);
    for (int round = 0; round < times; ++round) {
      ChildProcess tool(count_of(target));
      ::usleep(static_cast<useconds_t>(std::rand() % (whole + whole / 10 + 1)));
      while_held += harm_done_to(target.pid()).empty() ? 0 : 1;
      const auto start = Clock::now();
      tool.signal(number);
      const auto status = tool.wait_end(5s);
      REQUIRE_MESSAGE(status.has_value(), "it does not end by signal ", number);
      CHECK_MESSAGE(is_expected_end(number, *status), "signal ", number, ": status ", *status, ": ",
                    tool.read_errors(1s));
      REQUIRE(eventually(1s, [&] { return harm_done_to(target.pid()).empty(); }));
      release_ms = std::max(
          release_ms, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    print_figure(fmt::format(
        "B2/B3: {} to a count {} times within its {} ms ({} while it held the "
        "target): none left stopped, released within {:.1f} ms",
        ::strsignal(number), times, whole / 1000, while_held - held_before, release_ms));
  }
  CHECK(while_held > 0);
  const Answer before = target.ask();
  CHECK(eventually(10s, [&] { return target.ask().at("collections") > before.at("collections"); }));
  CHECK(target.ask().at("bad") == 0);
}

}  // namespace heapattach
