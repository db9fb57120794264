// A program that forks, starts another program, or changes what a trace relies on, while it is
// traced.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "integration/tracing.h"

using namespace heapattach;

namespace {

bool has_warning(const trace::Trace& trace, std::string_view words) {
  return std::ranges::any_of(trace.header.warnings, [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("children of fork and vfork run on, and are not in the trace of their parent") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"2", "free"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  int asked = 0;
  Answer after;
  const trace::Trace trace = trace_until(target, 64 << 10, [&] {
    after = target.ask(asked % 2 == 0 ? "fork" : "vfork");
    return ++asked == 6;
  });
  CHECK(after["children"] == 6);
  CHECK(after["bad"] == 0);
  auto sites = sites_of(trace);
  CHECK(sites["make_small"].samples > 0);
  CHECK(sites["make_in_child"].samples == 0);
  CHECK(is_working(target));
  CHECK(difference(before, lasting_traces(target)) == "");
}

TEST_CASE("a traced process that starts another program ends the trace, which says so") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1"});
  bool has_asked = false;
  const trace::Trace trace = trace_until(target, 1, [&] {
    if (!has_asked) target.ask("run 100");
    if (!std::exchange(has_asked, true)) target.child().send_line("exec");
    return false;
  });
  CHECK_FALSE(trace.header.complete);
  CHECK(trace.header.reason == "the process runs another program now");
  CHECK_FALSE(trace.header.gc_bytes_at_end.has_value());
  CHECK(target.read_line() == "ready");
  CHECK(is_working(target));
  CHECK(traces_of(target.pid()).mappings.find("heapattach") == std::string::npos);
}

TEST_CASE("a program that sets a handler of its own while it is traced keeps it") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"2", "free"});
  REQUIRE(is_working(target));
  bool has_asked = false;
  const trace::Trace trace = trace_until(target, 64 << 10, [&] {
    if (!std::exchange(has_asked, true)) target.ask("handler");
    return target.ask()["events"] > 3;
  });
  CHECK(has_warning(trace, "what is in use is unknown"));
  // It may call the one that it replaced, so that stays where it is.
  CHECK(has_warning(trace, "the program has set another handler of collection events"));
  Answer now = target.ask();
  CHECK(now["own_handler"] == 1);
  CHECK(is_working(target));
  CHECK(target.ask("collect")["events"] > now["events"]);
}
