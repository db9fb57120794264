// HAZARDS C1, C2 and C6: a collector that never rests is frozen at random moments and continues.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

bool has_collector() {
  if (std::filesystem::exists(target_path("collecting"))) return true;
  print_skip("libgc-dev is not installed");
  return false;
}

// Whether the collector has stopped the program's threads: they wait in rt_sigsuspend (130) for its
// signal.
bool is_collecting(pid_t pid) {
  for (const pid_t tid : threads_of(pid)) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
    int number = 0;
    if (file >> number && number == 130) return true;
  }
  return false;
}

// Checks that the target still collects and allocates, and that none of its lists is damaged.
void check_collects(LiveTarget& target) {
  const Answer before = target.ask();
  CHECK(eventually(10s, [&] {
    const Answer now = target.ask();
    return now.at("collections") > before.at("collections") && now.at("made") > before.at("made");
  }));
  CHECK(target.ask().at("bad") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace

TEST_CASE("a collector at work survives freezes at random moments") {
  if (!has_collector()) return;
  for (const std::vector<std::string>& form :
       {std::vector<std::string>{"1"}, {"4"}, {"16"}, {"4", "incremental"}}) {
    LiveTarget target("collecting", form);
    const int freezes = rounds(100, 2000);
    int in_collection = 0;
    for (int round = 0; round < freezes; ++round) {
      const auto report = freeze_once(target.pid(), {}, [&](const FrozenView&) -> Result<void> {
        in_collection += is_collecting(target.pid()) ? 1 : 0;
        return {};
      });
      REQUIRE_MESSAGE(report.has_value(), why(report));
      ::usleep(static_cast<useconds_t>(std::rand() % 3000));
    }
    CHECK(in_collection > 0);
    check_collects(target);
    const Answer answer = target.ask();
    print_figure(
        fmt::format("C1, C6: {} mutators{}: {} freezes, {} of them in a collection; {} "
                    "collections, {} lists made, {} bad",
                    form[0], form.size() > 1 ? " incremental" : "", freezes, in_collection,
                    answer.at("collections"), answer.at("made"), answer.at("bad")));
  }
}

TEST_CASE("a collector at work survives a long freeze") {
  if (!has_collector()) return;
  LiveTarget target("collecting", {"4"});
  const std::chrono::seconds hold(rounds(3, 20));
  FreezeOptions options;
  options.budget = hold + 5s;
  const auto report = freeze_once(target.pid(), options, [&](const FrozenView&) -> Result<void> {
    std::this_thread::sleep_for(hold);
    CHECK(threads_not_frozen(target.pid()) == 0);
    return {};
  });
  REQUIRE_MESSAGE(report.has_value(), why(report));
  check_collects(target);
  print_figure(
      fmt::format("C2: frozen for {} s in the middle of collections, continues", hold.count()));
}

TEST_CASE("the signals of the collector are not lost by a tool that is killed") {
  if (!has_collector()) return;
  LiveTarget target("collecting", {"4"});
  for (int round = 0; round < rounds(50, 500); ++round) {
    ChildProcess tool({FREEZE_TOOL, std::to_string(target.pid()), "0"});
    REQUIRE(tool.read_line(5s).has_value());
    ::usleep(static_cast<useconds_t>(std::rand() % 5000));
    tool.signal(SIGKILL);
    REQUIRE(tool.wait_end(5s).has_value());
    REQUIRE(eventually(1s, [&] { return harm_done_to(target.pid()).empty(); }));
  }
  check_collects(target);
}

TEST_CASE("a heap read in the middle of a collection adds up or is marked partial") {
  if (!has_collector()) return;
  LiveTarget target("collecting", {"3"});
  int collecting = 0;
  int partial = 0;
  const int all = rounds(60, 1000);
  for (int i = 0; i < all; ++i) {
    if (is_collecting(target.pid())) ++collecting;
    const ToolRun run = run_in_shell(
        "\"$0\" -q --count -f json \"$1\" | jq -e "
        "'if .complete == false then .reason != null "
        "else .bytes + .unreachable_bytes + .free_bytes == .heap_bytes end'; "
        "echo ${PIPESTATUS[0]}",
        {std::to_string(target.pid())});
    const bool is_partial = run.output == "true\n7\n";
    CHECK_MESSAGE((is_partial || run.output == "true\n0\n"), run.output, run.errors);
    partial += is_partial ? 1 : 0;
  }
  print_figure(fmt::format("C6: {} counts, {} of them during a collection, {} marked partial", all,
                           collecting, partial));
  CHECK(collecting > 0);
  check_collects(target);
}

}  // namespace heapattach
