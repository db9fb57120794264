// --call --in-place: a function runs in the service itself, and the thread that runs it is
// restored. If that is impossible, the call is refused.

#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/death_sweep.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

ToolRun call(const LiveTarget& target,
             const std::string& what,
             std::vector<std::string> more = {"--in-place"}) {
  more.insert(more.end(), {"--call", what, std::to_string(target.pid())});
  return run_tool(more);
}

std::vector<std::string> on_thread(const LiveTarget& target, const std::string& name) {
  return {"--in-place", "--thread", std::to_string(target.greeting().at(name))};
}

bool says(const ToolRun& run, const std::string& words) {
  return run.errors.find(words) != std::string::npos;
}

constexpr char kDisturb[] = "disturb(1, 2, \"three\")";

}  // namespace

TEST_CASE("a function called in place gives its result, and its thread continues unchanged") {
  LiveTarget target("borrowed");
  const Traces before = traces_of(target.pid());
  for (const char* name : {"main", "computing", "events", "condition", "waiting"}) {
    for (int i = 0; i < rounds(1, 100); ++i) {
      const ToolRun run = call(target, kDisturb, on_thread(target, name));
      REQUIRE_MESSAGE(run.status == 0, name, ": ", run.errors);
      CHECK(run.output == "521\n");
      CHECK(says(run, "disturb is about to run in process"));
    }
    check_unharmed(target, name);
    CHECK(target.ask().at("interrupted") == 0);
    CHECK(target.ask().at("talk") == 0);
    CHECK(difference(before, traces_of(target.pid())) == "");
  }
  const ToolRun where = call(target, "say_where()", {"--in-place=run", "--returns", "string"});
  CHECK_MESSAGE(where.output == fmt::format("thread {}\n", target.pid()), where.errors);
  CHECK(difference(before, traces_of(target.pid())) == "");
}

TEST_CASE("the other threads are stopped during a call in place, or keep running, as requested") {
  LiveTarget target("borrowed");
  const ToolRun held = call(target, "beats_within(30)", {"--in-place=hold"});
  CHECK_MESSAGE(held.output == "0\n", held.errors);
  // Even on a busy machine, the thread runs at some time.
  CHECK(eventually(60s, [&] {
    const ToolRun run = call(target, "beats_within(200)", {"--in-place=run"});
    CHECK_MESSAGE(run.status == 0, run.errors);
    return run.output != "0\n";
  }));
  check_unharmed(target, "afterwards");
}

TEST_CASE("a call in place is refused if no thread is at a safe point, with the reason") {
  struct Unsafe {
    const char* program;
    const char* where;
    const char* reason;
  };
  for (const Unsafe& unsafe : {Unsafe{"unsafe", "malloc", "in malloc or free (malloc_info)"},
                               Unsafe{"unsafe", "loader", "in the dynamic loader"},
                               Unsafe{"unsafe", "handler", "in a signal handler"},
                               Unsafe{"unsafe_collector", "", "in the collector"}}) {
    if (!is_target_built(unsafe.program)) {
      print_skip("the collector's library is not installed");
      continue;
    }
    LiveTarget target(unsafe.program, {unsafe.where});
    const ToolRun run = call(target, "add_one(1)", {"--in-place", "--timeout", "10"});
    CHECK_MESSAGE(run.status == 1, run.errors);
    CHECK_MESSAGE(says(run, unsafe.reason), run.errors);
    CHECK(run.output.empty());
    CHECK(target.ask().at("calls") == 0);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("a thread in a call whose remaining time only the kernel knows is not used") {
  ChildProcess sleeper({"/bin/sleep", "60"});
  const std::string pid = std::to_string(sleeper.pid());
  const std::string sleeps = fmt::format("{} ", SYS_clock_nanosleep);
  REQUIRE(
      eventually(30s, [&] { return read_text("/proc/" + pid + "/syscall").starts_with(sleeps); }));
  const ToolRun run = run_tool({"--in-place", "--timeout", "10", "--call", "getpid()", pid});
  CHECK_MESSAGE(run.status == 1, run.errors);
  CHECK_MESSAGE(says(run, "only the kernel knows how much of it is left"), run.errors);
  CHECK(harm_done_to(sleeper.pid()) == "");
}

TEST_CASE("a crash or an end in place does not reach the process, and is reported") {
  LiveTarget target("borrowed");
  const ToolRun crash = call(target, "crash(8)", on_thread(target, "computing"));
  CHECK(crash.status == 1);
  CHECK_MESSAGE(says(crash, "crash crashed (SIGSEGV at 0x8)"), crash.errors);
  CHECK_MESSAGE(says(crash, "in crash"), crash.errors);
  const ToolRun left = call(target, "leave(3)", on_thread(target, "events"));
  CHECK(left.status == 1);
  CHECK_MESSAGE(says(left, "exit(3)"), left.errors);
  const ToolRun aborted = call(target, "give_up()", on_thread(target, "main"));
  CHECK(aborted.status == 1);
  CHECK_MESSAGE(says(aborted, "SIGABRT"), aborted.errors);
  check_unharmed(target, "afterwards");
  CHECK(target.ask().at("interrupted") == 0);
  const ToolRun none = call(target, "no_such_function()");
  CHECK_MESSAGE(says(none, "has no function"), none.errors);
}

TEST_CASE("a call in place that does not end in time continues, and its thread returns by itself") {
  LiveTarget target("borrowed");
  const std::string signals = signals_of(target.pid());
  std::vector<std::string> how = on_thread(target, "computing");
  how.insert(how.end(), {"--max-pause", "300"});
  const ToolRun run = call(target, "sleep_well(1500)", how);
  CHECK_MESSAGE(run.status == 6, run.errors);
  CHECK_MESSAGE(says(run, "continues in it"), run.errors);
  check_unharmed(target, "afterwards");
  CHECK(signals_of(target.pid()) == signals);
  const ToolRun next = call(target, kDisturb);
  CHECK_MESSAGE(next.output == "521\n", next.errors);
}

// HAZARDS C4: a collection needs all threads of the service, and the lock that they allocate under.
TEST_CASE("a collection is called in place, and waits for stopped threads") {
  if (!is_target_built("dumping")) return;
  LiveTarget target("dumping", {"1000", "busy"});
  const int calls = rounds(3, 1000);
  for (int i = 0; i < calls; ++i) {
    const ToolRun run = call(target, "GC_gcollect()", {"--in-place=run"});
    REQUIRE_MESSAGE(run.status == 0, run.errors);
  }
  print_figure(fmt::format("C4: {} collections called in place, none hung", calls));
  const ToolRun held = call(target, "GC_gcollect()", {"--in-place=hold", "--max-pause", "300"});
  CHECK_MESSAGE(held.status == 6, held.errors);
  CHECK_MESSAGE(says(held, "continues in it"), held.errors);
  CHECK(target.ask().at("length") == 1000);
  const Answer before = target.ask();
  CHECK(eventually(30s, [&] { return target.ask().at("others") > before.at("others"); }));
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
