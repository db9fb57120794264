// HAZARDS B1, B7, B8: a thread's state, as the kernel reports it, is the same before and after the
// thread was borrowed: general and vector registers, flags, and the signal mask.

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "inject/ptrace_control.h"
#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

struct State {
  RawRegisters general{};
  std::vector<std::byte> extended;
  std::uint64_t mask = 0;
};

// Threads that wait, and so do not change their own state.
const std::vector<std::string> waiting{"main", "events", "condition", "waiting"};

bool all_wait(const LiveTarget& target) {
  return std::all_of(waiting.begin(), waiting.end(), [&](const std::string& name) {
    return state_of(target.pid(), static_cast<pid_t>(target.greeting().at(name))) == 'S';
  });
}

std::map<std::string, State> states_of(const LiveTarget& target) {
  // A thread that was just released may not have returned to its waiting call yet.
  REQUIRE(eventually(std::chrono::seconds(30), [&] { return all_wait(target); }));
  std::map<std::string, State> states;
  const auto process = Process::open(target.pid());
  REQUIRE(process.has_value());
  const auto control = PtraceControl::open(*process);
  REQUIRE(control.has_value());
  FreezeOptions options;
  options.budget = options.thread_deadline = std::chrono::seconds(30);
  const auto look = [&](const FrozenView&) -> Result<void> {
    for (const std::string& name : waiting) {
      const auto tid = static_cast<pid_t>(target.greeting().at(name));
      State& state = states[name];
      state.general = HA_TRY((*control)->registers(tid));
      state.extended = HA_TRY((*control)->extended_state(tid));
      state.mask = HA_TRY((*control)->signal_mask(tid));
    }
    return {};
  };
  const auto frozen = while_frozen(*process, options, look);
  REQUIRE_MESSAGE(frozen.has_value(), why(frozen));
  return states;
}

std::string difference(const State& before, const State& after) {
  std::string text;
  if (std::memcmp(&before.general, &after.general, sizeof before.general) != 0) {
    text += "registers; ";
  }
  if (before.extended != after.extended) text += "vector registers; ";
  if (before.mask != after.mask) text += "mask; ";
  return text;
}

}  // namespace

TEST_CASE("registers, flags, vector state and mask are equal before and after each operation") {
  LiveTarget target("borrowed");
  const std::string pid = std::to_string(target.pid());
  const std::string call = "disturb(1, 2, \"three\")";
  std::size_t bytes = 0;
  for (const std::string& name : waiting) {
    const std::string thread = std::to_string(target.greeting().at(name));
    for (const char* how : {"--quiet", "--in-place"}) {
      const auto before = states_of(target);
      const ToolRun run = run_tool({"--call", call, how, "--thread", thread, pid});
      CHECK_MESSAGE(run.output == "521\n", name, " ", how, ": ", run.errors);
      const auto after = states_of(target);
      for (const std::string& each : waiting) {
        CHECK_MESSAGE(difference(before.at(each), after.at(each)) == "", each, " after ", name);
        bytes = after.at(each).extended.size();
      }
    }
  }
  print_figure(
      fmt::format("B1: {} bytes of vector state equal in {} threads, each borrowed for a "
                  "clone and in place",
                  bytes, waiting.size()));
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
