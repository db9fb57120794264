// Programs that put themselves under a seccomp filter before, during or at the end of a trace.

#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "integration/health.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

constexpr const char* kSandboxed = "sandboxed";
constexpr std::int64_t kObjects = 1000;  // that each of its two threads makes for a command

// The number of allocations in the ring, by thread.
std::map<std::uint32_t, std::int64_t> drain(trace::Installation& installed) {
  std::map<std::uint32_t, std::int64_t> made;
  for (;;) {
    const auto entry = installed.ring().front();
    REQUIRE(entry.has_value());
    if (!*entry) return made;
    if ((*entry)->record.what == trace::kRecordAllocated) ++made[(*entry)->record.thread];
    installed.ring().pop();
  }
}

Result<std::unique_ptr<trace::Installation>> install_exact(HookedTarget& tracer) {
  return trace::Installation::make(*tracer.opened.process, *tracer.control, tracer.hooks,
                                   {.every = 1});
}

void check_made(LiveTarget& target, trace::Installation& installed, const std::string& question) {
  const std::int64_t before = target.ask().at("made");
  const Answer after = target.ask(question);
  CHECK(after.at("bad") == 0);
  const auto threads = threads_of(target.pid());
  std::int64_t all = 0;
  for (const auto& [thread, count] : drain(installed)) {
    CHECK(std::ranges::find(threads, static_cast<pid_t>(thread)) != threads.end());
    CHECK(count == kObjects);
    all += count;
  }
  CHECK(all == after.at("made") - before);
}

bool is_left_whole(LiveTarget& target, trace::Installation& installed, std::string& reason) {
  const auto removed = installed.leave();
  REQUIRE_MESSAGE(removed.has_value(), why(removed));
  reason = removed->why;
  CHECK(target.ask("make").at("bad") == 0);
  CHECK(drain(installed).empty());
  return removed->is_whole;
}

}  // namespace

TEST_CASE("a program that installs a seccomp filter during a trace survives and stays traced") {
  if (!is_target_built(kSandboxed)) return;
  for (const std::string rules : {"strict", "filter", "all"}) {
    CAPTURE(rules);
    LiveTarget target(kSandboxed);
    HookedTarget tracer(target.pid());
    const auto installed = install_exact(tracer);
    REQUIRE_MESSAGE(installed.has_value(), why(installed));
    check_made(target, **installed, "make");
    REQUIRE(target.ask(rules).at("bad") == 0);
    check_made(target, **installed, "make");
    check_made(target, **installed, "helper");
    std::string reason;
    const bool is_whole = is_left_whole(target, **installed, reason);
    // The recorder cannot be unmapped if no thread may make the call.
    CHECK(is_whole == (rules != "all"));
    CHECK((reason.find("seccomp") != std::string::npos) == !is_whole);
    CHECK(harm_done_to(target.pid()) == "");
    CHECK(target.ask("make").at("bad") == 0);
  }
}

TEST_CASE("a program is traced if one thread is under a filter, and refused if all are") {
  if (!is_target_built(kSandboxed)) return;
  for (const std::string rules : {"strict", "filter", "all"}) {
    CAPTURE(rules);
    LiveTarget target(kSandboxed);
    REQUIRE(target.ask(rules).at("bad") == 0);
    const Traces before = lasting_traces(target);
    HookedTarget tracer(target.pid());
    const auto installed = install_exact(tracer);
    CHECK(installed.has_value() == (rules != "all"));
    std::string reason;
    if (installed) {
      check_made(target, **installed, "make");
      CHECK(is_left_whole(target, **installed, reason));
    } else {
      CHECK_MESSAGE(why(installed).find("seccomp") != std::string::npos, why(installed));
    }
    CHECK(difference(before, lasting_traces(target)) == "");
    CHECK(target.ask("make").at("bad") == 0);
  }
}

TEST_CASE(
    "a program that is started for a trace and then puts itself under a filter runs to its end") {
  if (!is_target_built(kSandboxed)) return;
  for (const char* const every : {"512k", "64k"}) {
    const ToolRun run =
        run_tool({"--trace", "--every", every, "--", target_path(kSandboxed), "alone"});
    CHECK_MESSAGE(run.status == 0, run.errors);
    CHECK_MESSAGE(run.errors.find("exited with status 0") != std::string::npos, run.errors);
  }
}

}  // namespace heapattach
