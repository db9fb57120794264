// HAZARDS H1: gdb and heapattach call the same function of a service, and are killed at a random
// moment. heapattach must not harm the service. For gdb, the test only counts how often it does.

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <unistd.h>

#include "integration/death_sweep.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

constexpr char kGdb[] = "/usr/bin/gdb";
constexpr int kCalls = 8;

// gdb's command: several calls of 30 ms each.
std::vector<std::string> by_gdb(const std::string& pid) {
  std::vector<std::string> words{kGdb, "-nx", "-q", "-batch", "-p", pid};
  for (int i = 0; i < kCalls; ++i) {
    words.insert(words.end(), {"-ex", "print (long)beats_within(30)"});
  }
  return words;
}

// heapattach's command: one call that takes as long as all of gdb's together.
std::vector<std::string> by_us(const std::string& pid) {
  return {tool_path(), "--in-place", "--call", fmt::format("beats_within({})", 30 * kCalls), pid};
}

// Whether gdb can call functions. gdb 13 cannot if the processor has state that it does not know
// (AMX).
bool can_gdb_call() {
  LiveTarget target("borrowed");
  ChildProcess gdb(by_gdb(std::to_string(target.pid())));
  return gdb.read_rest(60s).find("$1 = ") != std::string::npos;
}

// Runs a tool and kills it while it holds the service, or soon after.
void kill_somewhere(const std::vector<std::string>& command, pid_t service) {
  ChildProcess tool(command);
  REQUIRE(eventually(
      60s, [&] { return status_line(service, "TracerPid") != "0" || !tool.is_running(); }));
  ::usleep(static_cast<useconds_t>(std::rand() % 300'000));
  tool.signal(SIGKILL);
  REQUIRE(tool.wait_end(60s).has_value());
}

// The harm to the service: "ended", "stopped", or empty.
std::string harm_after(LiveTarget& target) {
  // The service may still be in a function that will return to an invalid address.
  std::this_thread::sleep_for(1s);
  if (!target.child().is_running()) return "ended";
  const bool is_free = eventually(3s, [&] { return harm_done_to(target.pid()).empty(); });
  if (!target.child().is_running()) return "ended";
  return is_free ? "" : "stopped";
}

}  // namespace

TEST_CASE("killed in the middle of a call that gdb makes too, heapattach harms nothing") {
  const int times = rounds(2, 40);
  for (int i = 0; i < times; ++i) {
    LiveTarget target("borrowed");
    kill_somewhere(by_us(std::to_string(target.pid())), target.pid());
    check_unharmed(target, fmt::format("kill {}", i));
  }
  if (::access(kGdb, X_OK) != 0 || !is_long_run()) {
    if (is_long_run()) print_skip("gdb is not installed: nothing to compare with");
    return;
  }
  int ended = 0;
  int stopped = 0;
  for (int i = 0; i < times; ++i) {
    LiveTarget target("borrowed");
    kill_somewhere(by_gdb(std::to_string(target.pid())), target.pid());
    const std::string harm = harm_after(target);
    ended += harm == "ended" ? 1 : 0;
    stopped += harm == "stopped" ? 1 : 0;
  }
  print_figure(fmt::format(
      "H1: killed in a call at {} random moments each: heapattach harmed 0 services; "
      "gdb ended {} and left {} stopped{}",
      times, ended, stopped, can_gdb_call() ? "" : ", though it cannot even make the call here"));
}

}  // namespace heapattach
