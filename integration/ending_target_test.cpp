// HAZARDS A10: targets that end, or become another program, while they are being frozen.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// The outcomes of the freezes for one kind of end.
struct Tally {
  int rounds = 0;
  int frozen = 0;
  std::map<std::string, int> errors;
  double longest_ms = 0;

  // Prints the outcomes. A test in which no freeze succeeded would show nothing.
  void conclude(const char* how) const {
    std::string text;
    for (const auto& [message, count] : errors) {
      text += fmt::format(", {} × \"{}\"", count, message);
    }
    print_figure(fmt::format("A10: {}: {} rounds, {} freezes{}; the longest took {:.1f} ms", how,
                             rounds, frozen, text, longest_ms));
    CHECK(frozen > 0);
  }
};

std::string without_numbers(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }),
             text.end());
  return text;
}

void take_in(Tally& tally, const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find("took_us="); at != std::string::npos) {
      const double took = std::strtod(line.c_str() + at + 8, nullptr) / 1e3;
      CHECK_MESSAGE(took < 20'000, line);  // the freeze ends in time, even on a busy machine
      tally.longest_ms = std::max(tally.longest_ms, took);
    }
    if (line.rfind("frozen", 0) == 0) {
      ++tally.frozen;
    } else if (line.rfind("took_us", 0) != 0 && line != "began") {
      ++tally.errors[without_numbers(line)];
      // A dead process that the test has not reaped yet is a zombie.
      const bool is_named = line.rfind("Gone", 0) == 0 ||
                            line.find("is a zombie") != std::string::npos ||
                            line.rfind("Interrupted", 0) == 0;
      CHECK_MESSAGE(is_named, line);
    }
  }
}

// The tool freezes the target again and again, in another process. A tracer that is also the parent
// gets only one notice of its child's end, so the test could not reap the target.
class Freezing {
 public:
  Freezing(const LiveTarget& target, Tally& tally)
      : tally_(tally), tool_({FREEZE_TOOL, std::to_string(target.pid()), "0"}) {
    ++tally_.rounds;
    REQUIRE(tool_.read_line(20s).value_or("") == "began");
  }
  // Once the target is gone, the tool must notice that by itself.
  void expect_end() { finish(20s); }
  void stop() {
    tool_.signal(SIGTERM);
    finish(20s);
  }

 private:
  void finish(std::chrono::milliseconds timeout) {
    const std::string output = tool_.read_rest(timeout);
    CHECK_MESSAGE(tool_.wait_end(10s).has_value(), "the tool does not end: ", output);
    take_in(tally_, output);
  }

  Tally& tally_;
  ChildProcess tool_;
};

// Freezes a target again and again until it ends in the way that `how` names. In the first round,
// the end comes late, so that some freezes succeed even on a busy machine.
std::optional<int> freeze_to_the_end(const std::string& how, Tally& tally, bool is_killed = false) {
  const int microseconds = tally.rounds == 0 ? 300'000 : std::rand() % 4000;
  LiveTarget target("ending", {how, std::to_string(microseconds)});
  Freezing freezing(target, tally);
  target.child().send_line("go");
  if (is_killed) {
    ::usleep(static_cast<useconds_t>(microseconds));
    target.child().signal(SIGKILL);
  }
  const auto status = target.child().wait_end(20s);
  freezing.expect_end();
  return status;
}

// Checks that the target's threads run, whatever happened to it.
void check_beats(LiveTarget& target) {
  const std::int64_t before = target.ask().at("beats");
  CHECK(eventually(20s, [&] { return target.ask().at("beats") > before; }));
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace

TEST_CASE("a target that exits while it is being frozen exits as usual") {
  Tally tally;
  for (int round = 0; round < rounds(60, 1000); ++round) {
    const auto status = freeze_to_the_end("exit", tally);
    REQUIRE_MESSAGE(status.has_value(), "its parent cannot reap it");
    CHECK(WIFEXITED(*status));
    CHECK(WEXITSTATUS(*status) == 7);
  }
  tally.conclude("exit_group");
}

TEST_CASE("a target that is killed while it is being frozen dies at once") {
  Tally tally;
  for (int round = 0; round < rounds(60, 1000); ++round) {
    const auto status = freeze_to_the_end("wait", tally, true);
    REQUIRE_MESSAGE(status.has_value(), "its parent cannot reap it");
    CHECK(WIFSIGNALED(*status));
    CHECK(WTERMSIG(*status) == SIGKILL);
  }
  tally.conclude("SIGKILL");
}

TEST_CASE("a target that is killed while it is frozen dies at once") {
  for (int round = 0; round < rounds(20, 500); ++round) {
    LiveTarget target("ending", {"wait"});
    ChildProcess tool({FREEZE_TOOL, std::to_string(target.pid()), "0", "30"});
    CHECK(eventually(20s, [&] { return state_of(target.pid(), target.pid()) == 't'; }));
    if (round % 2 == 0) ::usleep(static_cast<useconds_t>(std::rand() % 20'000));
    target.child().signal(SIGKILL);
    const auto status = target.child().wait_end(10s);
    REQUIRE_MESSAGE(status.has_value(), "its parent cannot reap it");
    CHECK(WTERMSIG(*status) == SIGKILL);
    const std::string output = tool.read_rest(20s);
    CHECK_MESSAGE(tool.wait_end(10s).has_value(), output);
  }
}

TEST_CASE("threads that all end while they are being frozen end") {
  Tally tally;
  for (int round = 0; round < rounds(60, 1000); ++round) {
    const auto status = freeze_to_the_end("threads", tally);
    REQUIRE_MESSAGE(status.has_value(), "its parent cannot reap it");
    CHECK(WIFEXITED(*status));
    CHECK(WEXITSTATUS(*status) == 0);
  }
  tally.conclude("each thread ends");
}

TEST_CASE("a target whose leader ends while it is being frozen lives on") {
  Tally tally;
  for (int round = 0; round < rounds(60, 1000); ++round) {
    LiveTarget target("ending", {"leader", std::to_string(std::rand() % 4000)});
    Freezing freezing(target, tally);
    target.child().send_line("go");
    CHECK(eventually(20s, [&] { return state_of(target.pid(), target.pid()) == 'Z'; }));
    ::usleep(static_cast<useconds_t>(std::rand() % 2000));
    freezing.stop();
    check_beats(target);
  }
  tally.conclude("the leader ends");
}

TEST_CASE("a target that executes another program while it is being frozen does so") {
  Tally tally;
  for (int round = 0; round < rounds(60, 1000); ++round) {
    LiveTarget target("ending", {"exec", std::to_string(std::rand() % 4000)});
    Freezing freezing(target, tally);
    target.child().send_line("go");
    // The new program prints "ready" once more.
    REQUIRE(target.child().read_line(3s).value_or("") == "ready");
    freezing.stop();
    check_beats(target);
  }
  tally.conclude("exec");
}

TEST_CASE("a target that executes another program while its many threads are seized does so") {
  Tally tally;
  for (int round = 0; round < rounds(40, 500); ++round) {
    LiveTarget target("ending", {"exec", std::to_string(std::rand() % 20'000), "300"});
    Freezing freezing(target, tally);
    target.child().send_line("go");
    REQUIRE(target.child().read_line(3s).value_or("") == "ready");
    freezing.stop();
    check_beats(target);
  }
  tally.conclude("exec with many threads");
}

TEST_CASE("a target that executes itself again and again reaches its end") {
  LiveTarget target("execer", {std::to_string(rounds(200, 3000))});
  Tally tally;
  target.child().send_line("report");  // the last program in the chain answers
  std::optional<std::string> answer;
  while (!answer && target.child().is_running()) {
    Freezing freezing(target, tally);
    answer = target.child().read_line(20ms);
    freezing.stop();
  }
  CHECK(answer.value_or("it has ended") == "left=0");
  CHECK(harm_done_to(target.pid()) == "");
  tally.conclude("exec again and again");
}

}  // namespace heapattach
