// The experience of a new user with five services, each with a planted fault. The test counts the
// commands until the cause is on the screen.
//
// The screen is a terminal of 120 columns; the user reads the first 24 lines of the output. The
// expected causes come from the sources of the services, never from the tool.

#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

constexpr std::size_t kLinesOfScreen = 24;

// The first lines that a command prints on a terminal, without colours.
std::string screen_of(const std::string& options, pid_t pid) {
  const ToolRun run = run_in_shell(fmt::format("TERM=xterm LC_ALL=C.UTF-8 NO_COLOR=1 script -qec "
                                               "\"stty cols 120 rows 24; '$0' {} {}\" /dev/null",
                                               options, pid),
                                   {});
  INFO(run.errors);
  std::istringstream lines(run.output);
  std::string screen;
  std::string line;
  for (std::size_t i = 0; i < kLinesOfScreen && std::getline(lines, line); ++i) {
    if (line.ends_with('\r')) line.pop_back();
    screen += line + '\n';
  }
  return screen;
}

// Runs one command after another until the whole cause is on the screen. Returns the number of
// commands; one more than there are if none shows the cause.
std::size_t commands_until(const std::vector<std::string>& cause,
                           const std::vector<std::string>& commands,
                           pid_t pid) {
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::string screen = screen_of(commands[i], pid);
    bool has_all = true;
    for (const std::string& part : cause) {
      const bool has_it = screen.find(part) != std::string::npos;
      if (!has_it) MESSAGE("'" << part << "' is not on the screen:\n" << screen);
      has_all = has_all && has_it;
    }
    if (has_all) return i + 1;
  }
  return commands.size() + 1;
}

// "My memory grows": what a user tries, in this order.
const std::vector<std::string> kGrows{"--suspects", "--sizes", "--count"};
// "It hangs".
const std::vector<std::string> kHangs{"--stacks", "--stacks -f json"};

}  // namespace

TEST_CASE("journey: the leak in a global of a Crystal service takes one command") {
  if (!is_target_built("leaking_debug")) return print_skip("no Crystal compiler");
  LiveTarget target("leaking_debug");
  (void)target.ask("cache=20000");
  // The shop is a constant, and forgets to evict @products.
  CHECK(commands_until({"SHOP", "@products", "20000", "Product"}, kGrows, target.pid()) == 1);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("journey: the leak in the closures of fibers takes one command") {
  if (!is_target_built("leaking_debug")) return print_skip("no Crystal compiler");
  LiveTarget target("leaking_debug");
  (void)target.ask("fiber=3000");
  // Each fiber runs finish(), whose job never ends.
  CHECK(commands_until({"3000 Job", "fiber waiter", "Shop#finish", "leaking.cr:59"}, kGrows,
                       target.pid()) == 1);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("journey: the deadlock of two fibers takes one command") {
  if (!is_target_built("hanging_default")) return print_skip("no Crystal compiler");
  LiveTarget target("hanging_default", {"locks"});
  CHECK(commands_until({"deadlock", "Ledger#transfer", "Ledger#report", "Mutex"}, kHangs,
                       target.pid()) == 1);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("journey: the wakeup that a C++ service missed takes one command") {
  LiveTarget target("lost_wakeup");
  CHECK(
      commands_until({"printer", "PrintQueue::take_job", "lost_wakeup.cpp:25", "pthread_cond_wait"},
                     kHangs, target.pid()) == 1);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("journey: the allocation that never ends in a C++ service takes one command") {
  if (!is_target_built("runaway")) return print_skip("no collector");
  LiveTarget target("runaway");
  CHECK(commands_until({"build_report", "rows", "Row"}, kGrows, target.pid()) == 1);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
