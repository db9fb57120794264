// --stacks of Ruby processes: the frames are those that Ruby prints itself.

#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/other_releases.h"
#include "integration/rounds.h"
#include "integration/ruby_program.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

using namespace std::chrono_literals;
using simdjson::dom::element;

// The lines of a thread, as Ruby prints them.
using Trace = std::vector<std::string>;

std::string text_of(const element& record, const char* key) {
  std::string_view text;
  return record[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

Trace trace_of(const element& fiber) {
  Trace trace;
  for (const element frame : simdjson::dom::array(fiber["frames"])) {
    trace.push_back(fmt::format("{}:{}:in `{}'", text_of(frame, "file"),
                                std::int64_t(frame["line"]), text_of(frame, "function")));
  }
  return trace;
}

struct Stacks {
  std::map<std::int64_t, Trace> traces;      // by thread: the frames of the fiber that it executes
  std::map<std::string, std::string> doing;  // by the thread's name
  std::map<std::string, std::size_t> fibers;
  Trace suspended;  // the functions of the suspended fiber
  std::string first_finding;
};

Stacks stacks_of(const std::string& source, int status = 0) {
  const ToolRun run = run_tool({"--stacks", "-f", "json", source});
  REQUIRE_MESSAGE(run.status == status, run.errors);
  simdjson::dom::parser parser;
  const element report = parser.parse(run.output);
  Stacks found;
  for (const element thread : simdjson::dom::array(report["threads"])) {
    element ruby;
    if (thread["ruby"].get(ruby) != simdjson::SUCCESS) continue;
    const simdjson::dom::array fibers = ruby["fibers"];
    found.traces[thread["tid"]] = trace_of(fibers.at(0));
    found.doing[text_of(ruby, "name")] = text_of(ruby, "doing");
    found.fibers[text_of(ruby, "name")] = fibers.size();
    element suspended;
    if (ruby["suspended"].get(suspended) != simdjson::SUCCESS) continue;
    for (const element frame : simdjson::dom::array(suspended.at(0)["frames"])) {
      found.suspended.push_back(text_of(frame, "function"));
    }
  }
  for (const element finding : simdjson::dom::array(report["findings"])) {
    if (found.first_finding.empty()) found.first_finding = std::string_view(finding);
  }
  return found;
}

// Checks that the frames of each thread are those that Ruby printed.
void check_traces(const simdjson::dom::object& truth, const Stacks& found) {
  for (const auto& thread : truth) {
    const std::string tid(thread.key);
    Trace expected;
    for (const std::string_view one : simdjson::dom::array(thread.value)) {
      expected.emplace_back(one);
    }
    const auto at = found.traces.find(std::stoll(tid));
    REQUIRE_MESSAGE(at != found.traces.end(), tid);
    CHECK(at->second == expected);
  }
  CHECK(found.fibers.at("fiber") == 2);
  CHECK(found.suspended == Trace{"yield", "yielding", "block in <main>"});
}

}  // namespace

TEST_CASE("--stacks has the Ruby frames of every thread, and says what each waits for") {
  if (is_ruby_missing()) return;
  ChildProcess ruby({kRuby, ruby_script("ruby_stacks.rb")});
  const auto line = ruby.read_line(60s);
  REQUIRE(line);
  simdjson::dom::parser parser;
  const simdjson::dom::object truth = parser.parse(*line);
  REQUIRE(truth.size() > 10);
  const Release release = installed_ruby();
  if (!release.is_tried) {
    const ToolRun run = run_tool({"--stacks", std::to_string(ruby.pid())});
    if (is_refused(release, run)) {  // the frames of C code are there
      CHECK(run.output.find("rb_") != std::string::npos);
      return;
    }
  }
  for (int round = 0; round < rounds(1, 100); ++round) {
    const Stacks found = stacks_of(std::to_string(ruby.pid()));
    check_traces(truth, found);
    for (const auto& wait :
         std::map<std::string, std::string>{{"first", "waits for Mutex 0x"},
                                            {"sleeping", "sleeps"},
                                            {"queue", "waits for an item of Queue 0x"},
                                            {"full", "waits for room in SizedQueue 0x"},
                                            {"condition", "waits for ConditionVariable 0x"},
                                            {"reading", "waits for descriptor "},
                                            {"stopped", "sleeps until another thread wakes it"},
                                            {"joining", "waits for the end of thread "}}) {
      const std::string doing = found.doing.at(wait.first);
      CHECK_MESSAGE(doing.starts_with(wait.second), doing);
    }
    CHECK(found.first_finding.starts_with("deadlock: thread "));
    CHECK(found.first_finding.find("in block in wait_for_both (ruby_stacks.rb:13)") !=
          std::string::npos);
  }
  const TemporaryDirectory directory;
  SUBCASE("and so has a saved snapshot") {
    const std::string saved = directory.file("saved.jsonl");
    const ToolRun run = run_tool({"-o", saved, std::to_string(ruby.pid())});
    REQUIRE_MESSAGE(run.status == 0, run.errors);
    const Stacks found = stacks_of(saved);
    check_traces(truth, found);
    CHECK(found.doing.at("queue").starts_with("waits to receive from Queue 0x"));
    CHECK(found.doing.at("reading").starts_with("waits for "));
    CHECK(found.first_finding.starts_with("deadlock: thread "));
  }
  SUBCASE("and so has a core file, whose heap is counted too") {
    const std::string prefix = directory.file("core");
    const ToolRun dumped = run_in_shell(
        "command -v gcore >/dev/null || exit 77; exec gcore -o \"$1\" \"$2\" </dev/null",
        {prefix, std::to_string(ruby.pid())});
    if (dumped.status == 77) {
      print_skip("no gcore");
      return;
    }
    const std::string core = fmt::format("{}.{}", prefix, ruby.pid());
    check_traces(truth, stacks_of(core));
    const ToolRun counted = run_tool({"--count", core});
    CHECK_MESSAGE(counted.status == 7, counted.errors);
    CHECK(counted.errors.find("not collected") != std::string::npos);
    CHECK(counted.output.find(" Worker\n") != std::string::npos);
  }
  CHECK(harm_done_to(ruby.pid()) == "");
}

}  // namespace heapattach
