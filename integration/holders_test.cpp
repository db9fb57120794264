// A Crystal program prints what references each of twenty objects: a constant, a class variable, a
// closure, a variable of a fiber. --why must name that first, whatever calls have left on stacks.

#include <chrono>
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

using namespace std::chrono_literals;

namespace {

struct Held {
  std::string number;
  std::string address;
  std::string how;     // "global", "variable", "closure"
  std::string holder;  // the global's name, or the fiber's address
  std::string variable;
};

std::vector<Held> ask_for_holders(LiveTarget& target) {
  std::vector<Held> all;
  for (std::int64_t left = target.ask("tell").at("holders"); left > 0; --left) {
    std::istringstream line(target.read_line());
    Held& held = all.emplace_back();
    line >> held.number >> held.address >> held.how >> held.holder >> held.variable;
  }
  return all;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The first root and its path, as JSON.
std::string first_path(const std::string& source, const std::string& address) {
  const ToolRun run = run_tool({"-q", "--why", address, "--paths", "1", "-f", "json", source});
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  return run.output;
}

void check_holder(const Held& held, const std::string& why, bool has_variables) {
  CAPTURE(held.number);
  CAPTURE(held.holder);
  CAPTURE(why);
  CHECK_FALSE(contains(why, "\"leftover\""));
  if (held.how == "global") {
    CHECK(contains(why, fmt::format("\"symbol\":\"{}\"", held.holder)));
    return;
  }
  const bool is_on_its_stack = contains(why, fmt::format("\"fiber\":\"{}\"", held.holder));
  if (held.how == "closure") {
    const bool is_below_it = contains(why, fmt::format("\"address\":\"{}\"", held.holder));
    CHECK((is_on_its_stack || is_below_it));
    return;
  }
  CHECK(is_on_its_stack);
  if (has_variables) CHECK(contains(why, fmt::format("\"variable\":\"{}\"", held.variable)));
}

}  // namespace

TEST_CASE("--why names first what references an object, in twenty cases of each build") {
  for (const char* name : {"holders_debug", "holders_default", "holders_release"}) {
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    const std::vector<Held> all = ask_for_holders(target);
    REQUIRE(all.size() == 20);
    REQUIRE(eventually(30s, [&] { return state_of(target.pid(), target.pid()) == 'S'; }));
    const std::string pid = fmt::format("{}", target.pid());
    TemporaryDirectory directory;
    const std::string file = directory.file("heap.jsonl");
    const ToolRun saved = run_tool({"-q", "-o", file, pid});
    REQUIRE_MESSAGE(saved.status == 0, saved.errors);
    const bool has_variables = std::string_view(name) == "holders_debug";
    for (const Held& held : all) {
      check_holder(held, first_path(file, held.address), has_variables);
    }
    CHECK(first_path(pid, all[0].address) == first_path(file, all[0].address));
    CHECK(harm_done_to(target.pid()) == "");
  }
}

// The collector's hint for its next mapping is the start of an older chunk, and so of an object.
TEST_CASE("the collector's own variables hold nothing, in a program without symbols") {
  for (const char* name : {"chunks_stripped", "chunks_alone"}) {
    CAPTURE(name);
    if (!is_target_built(name)) continue;
    LiveTarget target(name);
    CHECK(target.greeting().at("hints") > 0);
    const ToolRun run =
        run_tool({"-q", "--why", "(unknown)", "-f", "json", std::to_string(target.pid())});
    CAPTURE(run.errors);
    CAPTURE(run.output);
    REQUIRE(run.status == 0);
    // All forty objects have one path, which leads through the array.
    CHECK(contains(run.output, R"("paths":[{"objects":40,)"));
    CHECK(contains(run.output, fmt::format(R"("address":"{:#x}")", target.greeting().at("kept"))));
    CHECK(contains(run.output, R"("other_paths":0)"));
    CHECK_FALSE(contains(run.output, "of the collector)"));
    CHECK(harm_done_to(target.pid()) == "");
  }
}

}  // namespace heapattach
