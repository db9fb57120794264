// The types that a trace learns from objects are compared with what the program makes in each
// place.

#include <csignal>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "integration/child_process.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"
#include "report/trace/take_trace.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

// By function on the stack, and then by type: the number of allocations.
using Made = std::map<std::string, std::map<std::string, int>>;

Made made_in(const trace::Trace& trace, const std::string& prefix) {
  Made made;
  trace::EventLog::Reader reader(trace.events);
  for (trace::Event event; reader.next(event);) {
    if (event.kind != trace::EventKind::Alloc || event.stack == trace::kNone) continue;
    const std::string type = event.type == trace::kNone ? "" : trace.types[event.type].name;
    for (const std::uint32_t frame : trace.stacks[event.stack].frames) {
      const std::string& function = trace.frames[frame].function;
      if (!function.starts_with(prefix)) continue;
      ++made[function.substr(prefix.size())][type];
      break;
    }
  }
  return made;
}

int sum_of(const std::map<std::string, int>& counts) {
  int sum = 0;
  for (const auto& [type, count] : counts) sum += count;
  return sum;
}

// Compiles shapes.cpp with this option, traces it, and compares the classes.
void check_shapes(const std::string& option) {
  const TemporaryDirectory directory;
  const std::string program = directory.file("shapes");
  const ToolRun compiled = run_in_shell("exec g++ -g -O1 -o \"$1\" \"$2\" \"$3\"",
                                        {program, CONSUMERS "/../targets/shapes.cpp", option});
  REQUIRE_MESSAGE(compiled.status == 0, compiled.errors);
  ChildProcess shapes({program});
  REQUIRE(shapes.read_line(30s) == "ready");
  Request request;
  request.pid = shapes.pid();
  trace::TraceOptions options{request};
  options.every = 1;
  options.length = is_long_run() ? 20s : 1s;
  const auto trace = trace::take_trace(options);
  REQUIRE_MESSAGE(trace, (trace ? "" : trace.error().text()));
  Made made = made_in(*trace, "make_");
  const std::map<std::string, std::string> classes = {{"circle", "Circle"},
                                                      {"square", "Square"},
                                                      {"slow", "Slow"},
                                                      {"shape", "Shape"},
                                                      {"numbers", ""}};
  for (const auto& [place, klass] : classes) {
    CAPTURE(place);
    CHECK(sum_of(made[place]) > 0);
    for (const auto& [type, count] : made[place]) {
      const bool is_right = type.empty() || type == klass;
      CHECK_MESSAGE(is_right, type, " ", count, " times");
    }
  }
  // Half of the objects are freed at once; the others stay long enough to be looked at.
  CHECK(made["square"]["Square"] > sum_of(made["square"]) / 4);
  CHECK(made["slow"]["Slow"] > 0);
  CHECK(made["shape"]["Shape"] > 0);
  shapes.signal(SIGKILL);
}

}  // namespace

TEST_CASE("the objects of a C++ program have their own classes, or none") {
  SUBCASE("on the collector's heap") {
    if (!is_target_built(kAllocating)) return print_skip("libgc is not installed");
    check_shapes("-lgc");
  }
  SUBCASE("on malloc's heap") {
    check_shapes("-DWITH_MALLOC");
  }
}

TEST_CASE("the Strings of a Crystal program are Strings, and its buffers are not") {
  if (!is_target_built("workers_default")) return;
  LiveTarget target("workers_default");
  constexpr int kAsked = 200;
  int asked = 0;
  const trace::Trace trace = trace_until(target, 1, [&] {
    for (int i = 0; i < kAsked / 4; ++i, ++asked) target.ask("first=1");
    return asked >= kAsked;
  });
  int strings = 0;
  trace::EventLog::Reader reader(trace.events);
  for (trace::Event event; reader.next(event);) {
    if (event.kind != trace::EventKind::Alloc || event.type == trace::kNone) continue;
    if (trace.types[event.type].name != "String") continue;
    ++strings;
    bool is_made_by_string = false;
    for (const std::uint32_t frame : trace.stacks[event.stack].frames) {
      is_made_by_string = is_made_by_string || trace.frames[frame].function.starts_with("String");
    }
    CHECK(is_made_by_string);
  }
  // Each line is a String, and so are its parts.
  CHECK(strings > kAsked);
}

}  // namespace heapattach
