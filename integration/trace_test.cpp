// Traces a live program that knows what it allocates.

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "inject/trace/in_target.h"
#include "integration/passing_control.h"
#include "integration/rounds.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

constexpr const char* kTarget = kAllocating;

}  // namespace

namespace {

void check_collectors_bytes(const TracedRounds& traced) {
  const trace::Header& header = traced.trace.header;
  REQUIRE(header.gc_bytes_at_start);
  REQUIRE(header.gc_bytes_at_end);
  CHECK(static_cast<std::int64_t>(*header.gc_bytes_at_start) >= traced.before.at("total"));
  CHECK(static_cast<std::int64_t>(*header.gc_bytes_at_end) <= traced.after.at("total"));
}

}  // namespace

TEST_CASE("the estimates of a trace fit what the program knows, for each place") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"2"});
  const Traces before = lasting_traces(target);
  const std::map<std::string, std::string> known = {{"make_small", "small"},
                                                    {"make_atomic", "atomic"},
                                                    {"make_large", "large"},
                                                    {"make_resized", "resized"}};
  const int times = rounds(1, 30);
  int compared = 0;
  int beyond = 0;  // how often an estimate was off by three standard deviations: one in 370
  for (int i = 0; i < times; ++i) {
    const TracedRounds traced = trace_rounds(target, 16 << 10, 100'000, false);
    CHECK(traced.trace.header.complete);
    check_collectors_bytes(traced);
    auto sites = sites_of(traced.trace);
    CHECK(sites["(none)"].samples == 0);
    for (const auto& place : known) {
      const std::string& function = place.first;
      const std::string& count = place.second;
      const TracedSite& site = sites[function];
      const auto truth = static_cast<double>(traced.after.at(count) - traced.before.at(count));
      INFO(function, ": ", site.objects, " of ", truth, ", ", site.samples, " samples, ",
           traced.trace.header.drops, " lost");
      CHECK(site.samples > 0);
      if (traced.trace.header.drops != 0) continue;
      const double deviation = (std::abs(site.objects - truth) - 1) / std::sqrt(site.variance);
      CHECK(deviation < 5);
      ++compared;
      if (deviation > 3) ++beyond;
    }
  }
  if (times > 1)
    print_figure(fmt::format("trace: {} of {} estimates beyond 3 sigma", beyond, compared));
  CHECK(beyond <= 1 + times / 10);
  CHECK(difference(before, lasting_traces(target)) == "");
}

namespace {

// Checks that each place has as many allocations, deaths and releases as the program has counted.
void check_exact(const TracedRounds& traced) {
  const auto truth = [&](const char* name) {
    return static_cast<std::uint64_t>(traced.after.at(name) - traced.before.at(name));
  };
  auto sites = sites_of(traced.trace);
  std::uint64_t samples = 0;
  for (const auto& [name, site] : sites) samples += site.samples;
  INFO(traced.trace.header.drops, " lost");
  for (const std::string& text : traced.trace.header.warnings) INFO(text);
  const std::uint64_t expected = truth("small") + truth("atomic") + truth("large") +
                                 truth("resized") + truth("finalizable") + truth("freed");
  CHECK(samples + traced.trace.header.drops >= expected);
  if (traced.trace.header.drops != 0)
    return print_figure("samples were lost: exact counts were not compared");
  CHECK(sites["make_small"].samples == truth("small"));
  CHECK(sites["make_atomic"].samples == truth("atomic"));
  CHECK(sites["make_large"].samples == truth("large"));
  CHECK(sites["make_resized"].samples == truth("resized"));
  CHECK(sites["make_finalizable"].samples == truth("finalizable"));
  CHECK(sites["make_finalizable"].dead == truth("finalized"));
  CHECK(sites["make_and_free"].freed == truth("freed"));
}

}  // namespace

TEST_CASE("every allocation is recorded, and its end is the one that finalizers see") {
  if (!is_target_built(kTarget)) return;
  std::vector<std::string> arguments{"2"};
  SUBCASE("") {}
  SUBCASE("where the collector works in steps") {
    arguments.emplace_back("incremental");
  }
  SUBCASE("where the program has a handler of events") {
    arguments.emplace_back("handler");
  }
  CAPTURE(arguments.back());
  LiveTarget target(kTarget, arguments);
  const TracedRounds traced = trace_rounds(target, 1, 2000, true);
  check_exact(traced);
  Answer after = target.ask();
  CHECK(after["bad"] == 0);
  if (arguments.back() != "handler") return;
  // The program's handler was called for each collection: before, during and after the trace.
  CHECK(after["own_handler"] == 1);
  CHECK(after["events"] > traced.before.at("events"));
  CHECK(after["events"] - traced.before.at("events") ==
        after["collections"] - traced.before.at("collections"));
}

TEST_CASE("a process is unharmed and unchanged after many traces") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"3", "free"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  HookedTarget tracer(target.pid());
  const int times = rounds(15, 100);
  int left = 0;
  for (int i = 0; i < times; ++i) {
    auto installed = tracer.install();
    REQUIRE_MESSAGE(installed, (installed ? "" : installed.error().text()));
    usleep(5000);
    const auto removed = (*installed)->leave();
    REQUIRE(removed);
    if (!removed->is_whole) ++left;
  }
  CHECK(left == 0);
  CHECK(is_working(target));
  CHECK(difference(before, lasting_traces(target)) == "");
}

TEST_CASE("a second trace of a process is refused while the first lasts") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"1", "free"});
  HookedTarget tracer(target.pid());
  const auto first = tracer.install();
  REQUIRE(first);
  const auto second = tracer.install();
  REQUIRE(!second);
  CHECK(second.error().kind == ErrorKind::Traced);
  CHECK(second.error().message().find("already traced, by process") != std::string::npos);
  CHECK(is_working(target));
}

TEST_CASE("a tracer that is killed at any step harms nothing, and the next one cleans up") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"2", "free"});
  HookedTarget tracer(target.pid());
  check_kills(target, tracer, rounds(13, 1));
}

namespace {

rlimit usual_limit{};

void allow_files_again(int) {
  setrlimit(RLIMIT_NOFILE, &usual_limit);
}

// Lets this process open no more files once the target has made the shared memory.
class Exhausting final : public PassingControl {
 public:
  using PassingControl::PassingControl;
  Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) override {
    auto stop = PassingControl::wait(tid, deadline);
    if (has_exhausted || open_files(tid, trace::kRingName) == 0) return stop;
    has_exhausted = true;
    rlimit none = usual_limit;
    none.rlim_cur = STDERR_FILENO + 1;  // all of those are open
    setrlimit(RLIMIT_NOFILE, &none);
    // Removing the descriptor is tried for seconds.
    const itimerval later{{}, {0, 300'000}};
    setitimer(ITIMER_REAL, &later, nullptr);
    return stop;
  }

  bool has_exhausted = false;
};

}  // namespace

TEST_CASE("a trace that cannot open its own memory leaves no descriptor in the process") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"1", "free"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  HookedTarget tracer(target.pid());
  REQUIRE(getrlimit(RLIMIT_NOFILE, &usual_limit) == 0);
  struct sigaction usual {};
  struct sigaction again {};
  again.sa_handler = allow_files_again;
  sigaction(SIGALRM, &again, &usual);
  Exhausting control(*tracer.control);
  const auto installed =
      trace::Installation::make(*tracer.opened.process, control, tracer.hooks, {});
  allow_files_again(0);
  sigaction(SIGALRM, &usual, nullptr);
  REQUIRE(control.has_exhausted);
  REQUIRE(!installed);
  INFO(installed.error().message());
  CHECK(open_files(target.pid(), trace::kRingName) == 0);
  CHECK(difference(before, lasting_traces(target)) == "");
  CHECK(is_working(target));
}

TEST_CASE("a process is not traced if its seccomp filter may kill it") {
  if (!is_target_built("filtered") || !is_target_built(kTarget)) return;
  LiveTarget target("filtered", {"kill", std::to_string(SYS_memfd_create), "--",
                                 target_path(kTarget), "1", "free"});
  const Traces before = lasting_traces(target);
  HookedTarget tracer(target.pid());
  const auto installed = tracer.install();
  REQUIRE(!installed);
  INFO(installed.error().message());
  CHECK(installed.error().message().find("seccomp") != std::string::npos);
  CHECK(difference(before, lasting_traces(target)) == "");
  CHECK(is_working(target));
}

TEST_CASE("a process under a filter that kills for nothing, as a container's, is traced") {
  if (::geteuid() != 0) return print_skip("needs root, to read a filter");
  if (!is_target_built("filtered") || !is_target_built(kTarget)) return;
  LiveTarget target("filtered", {std::to_string(SYS_mount), std::to_string(SYS_setns), "--",
                                 target_path(kTarget), "1", "free"});
  const Traces before = lasting_traces(target);
  {
    HookedTarget tracer(target.pid());
    const auto installed = tracer.install();
    REQUIRE_MESSAGE(installed.has_value(), why(installed));
    const auto removed = (*installed)->leave();
    REQUIRE_MESSAGE(removed.has_value(), why(removed));
    CHECK(removed->is_whole);
  }
  CHECK(difference(before, lasting_traces(target)) == "");
  CHECK(is_working(target));
}

}  // namespace heapattach
