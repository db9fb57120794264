// Traces malloc in a live program that knows how much each of its places has allocated and freed.

#include <array>
#include <chrono>
#include <cmath>
#include <future>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "inject/trace/removal.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"
#include "symbols/malloc/source.h"

namespace heapattach {

namespace {

constexpr const char* kTarget = "malloc_sites";
constexpr snapshot::HeapChoice kMalloc{.key = glibc::kHeapKind.key};
constexpr const char* kPlaces[] = {"plain",   "zeroed", "resized",        "first", "failed",
                                   "aligned", "stored", "barely_aligned", "paged", "barely_stored",
                                   "copied",  "array",  "freed"};

// Traces the target while it does `count` rounds in each of two threads, in `parts` parts.
TracedRounds trace_places(LiveTarget& target, std::uint64_t every, long count, long parts = 1) {
  TracedRounds traced;
  traced.before = target.ask();
  std::int64_t wanted = traced.before["rounds"];
  traced.trace = trace_until(
      target, every,
      [&] {
        traced.after = target.ask();
        if (traced.after["rounds"] < wanted) return false;
        if (parts-- == 0) return true;
        target.ask("run " + std::to_string(count));
        wanted += 2 * count;
        return false;
      },
      kMalloc);
  return traced;
}

void check_places(const std::string& program) {
  LiveTarget target(program, {"2"});
  // musl maps its first memory when it is asked for some.
  target.ask("leak 1");
  const Traces before = lasting_traces(target);
  // A thread that records everything fills the buffer in milliseconds.
  const TracedRounds traced = trace_places(target, 1, 150, 6);
  const auto truth = [&](const std::string& name) {
    return static_cast<std::uint64_t>(traced.after.at(name) - traced.before.at(name));
  };
  auto sites = sites_of(traced.trace);
  INFO(traced.trace.header.drops, " lost");
  for (const std::string& text : traced.trace.header.warnings) INFO(text);
  CHECK(target.ask()["bad"] == 0);
  CHECK(difference(before, lasting_traces(target)) == "");
  CHECK(traced.trace.header.heaps == std::vector<std::string>{"malloc"});
  for (const std::string place : kPlaces) {
    CAPTURE(place);
    const TracedSite& site = sites["make_" + place];
    CHECK(truth(place) > 0);
    CHECK(site.samples <= truth(place));
    CHECK(site.samples + traced.trace.header.drops >= truth(place));
    if (traced.trace.header.drops != 0) continue;
    CHECK(site.samples == truth(place));
    CHECK(site.freed == truth(place + "_freed"));
    CHECK(site.dead == 0);
  }
}

}  // namespace

TEST_CASE("every allocation of malloc is recorded once, with its place and its end") {
  for (const std::string program :
       {"malloc_sites", "malloc_sites_static_nameless", "malloc_sites_musl",
        "malloc_sites_musl_static", "malloc_sites_musl_static_nameless"}) {
    if (!is_target_built(program)) continue;
    CAPTURE(program);
    check_places(program);
  }
}

TEST_CASE("the estimates of a trace of malloc fit what the program knows, for each place") {
  LiveTarget target(kTarget, {"2"});
  const int times = rounds(1, 30);
  int compared = 0;
  int beyond = 0;  // how often an estimate was off by three standard deviations: one in 370
  for (int i = 0; i < times; ++i) {
    const TracedRounds traced = trace_places(target, 4 << 10, 60'000);
    auto sites = sites_of(traced.trace);
    for (const std::string place : kPlaces) {
      const TracedSite& site = sites["make_" + place];
      const auto truth = static_cast<double>(traced.after.at(place) - traced.before.at(place));
      INFO(place, ": ", site.objects, " of ", truth, ", ", site.samples, " samples, ",
           traced.trace.header.drops, " lost");
      CHECK(site.samples > 0);
      if (traced.trace.header.drops != 0) continue;
      const double deviation = (std::abs(site.objects - truth) - 1) / std::sqrt(site.variance);
      CHECK(deviation < 5);
      ++compared;
      if (deviation > 3) ++beyond;
      // The ends of samples are known exactly, so their share is that of all allocations.
      const auto kept = static_cast<double>(traced.after.at(place + "_freed") -
                                            traced.before.at(place + "_freed"));
      const double share = kept / truth;
      const double seen = static_cast<double>(site.freed) / static_cast<double>(site.samples);
      CHECK(std::abs(seen - share) < 0.02 + 5 / std::sqrt(static_cast<double>(site.samples)));
    }
  }
  if (times > 1) {
    print_figure(fmt::format("trace of malloc: {} of {} beyond 3 sigma", beyond, compared));
  }
  CHECK(beyond <= 1 + times / 10);
  CHECK(target.ask()["bad"] == 0);
}

TEST_CASE("a process is unharmed and unchanged after many traces of malloc") {
  LiveTarget target(kTarget, {"3", "free", "spawn"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  HookedTarget tracer(target.pid(), kMalloc);
  const int times = rounds(15, 200);
  int left = 0;
  for (int i = 0; i < times; ++i) {
    auto installed = tracer.install();
    REQUIRE_MESSAGE(installed, (installed ? "" : installed.error().text()));
    if (i % 5 == 0) target.ask("fork");
    usleep(5000);
    const auto removed = (*installed)->leave();
    REQUIRE(removed);
    if (!removed->is_whole) ++left;
  }
  CHECK(left == 0);
  CHECK(is_working(target));
  CHECK(target.ask()["children"] >= times / 5);
  CHECK(difference(before, lasting_traces(target)) == "");
}

TEST_CASE("a tracer of malloc that is killed at any step harms nothing") {
  const int wanted = rounds(1, 500);
  for (const std::string program :
       {"malloc_sites", "malloc_sites_static_nameless", "malloc_sites_musl_static"}) {
    if (!is_target_built(program)) continue;
    CAPTURE(program);
    LiveTarget target(program, {"2", "free"});
    HookedTarget tracer(target.pid(), kMalloc);
    int deaths = 0;
    while (deaths < wanted) deaths += check_kills(target, tracer, rounds(17, 1));
    if (is_long_run()) {
      print_figure(fmt::format("trace of malloc in {}: {} kills, 0 harmed", program, deaths));
    }
    CHECK(target.ask()["bad"] == 0);
  }
}

// A run that finds the process already traced may remove only what it has installed itself: entries
// still jump to the code of the first run.
TEST_CASE("a trace that begins too late leaves the other one alone") {
  LiveTarget target(kTarget, {"2", "free"});
  const Traces before = lasting_traces(target);
  HookedTarget first(target.pid(), kMalloc);
  HookedTarget second(target.pid(), kMalloc);
  auto installed = first.install();
  REQUIRE_MESSAGE(installed, (installed ? "" : installed.error().text()));
  const std::array files{0};
  const auto removed =
      trace::remove(*second.opened.process, *second.control, Deadline::in(std::chrono::seconds(20)),
                    {.code = 0, .files = files});
  REQUIRE(removed);
  CHECK((*installed)->is_there());
  CHECK_FALSE(second.install());
  CHECK((*installed)->is_there());
  CHECK(is_working(target));
  const auto left = (*installed)->leave();
  REQUIRE(left);
  CHECK(left->is_whole);
  CHECK(is_working(target));
  CHECK(difference(before, lasting_traces(target)) == "");
}

TEST_CASE("traces that begin together harm nothing") {
  LiveTarget target(kTarget, {"2", "free"});
  REQUIRE(is_working(target));
  const std::string pid = std::to_string(target.pid());
  const Traces before = lasting_traces(target);
  int done = 0;
  for (int i = 0; i < rounds(4, 100); ++i) {
    const auto trace = [&] {
      return run_tool({"leaks", "--heap", "malloc", "--trace", "200ms", pid});
    };
    auto other = std::async(std::launch::async, trace);
    const ToolRun one = trace();
    const ToolRun two = other.get();
    INFO(one.errors, two.errors);
    REQUIRE(is_working(target));
    // On a busy machine, each run may find that the other has begun, and give up. Status 7 is good,
    // because this program makes more samples than can be read.
    for (const int status : {one.status, two.status}) done += status == 0 || status == 7 ? 1 : 0;
  }
  CHECK(done > 0);
  // If the run that gave up could not close its file in the program, the next report does.
  CHECK(run_tool({"--stacks", pid}).status == 0);
  CHECK(target.ask()["bad"] == 0);
  CHECK(difference(before, lasting_traces(target)) == "");
}

}  // namespace heapattach
