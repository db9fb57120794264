// Stacks that cannot be walked: each ends with a mark, and costs the others nothing.

#include <algorithm>
#include <map>

#include <doctest/doctest.h>
#include <simdjson.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

struct Seen {
  std::string end;
  std::vector<std::string> functions;  // innermost first
  std::uint64_t frames = 0;            // including those that are left out
};

// By the names of the threads.
std::map<std::string, Seen> stacks_of(pid_t pid) {
  const ToolRun run =
      run_tool({"--stacks", "-q", "-f", "json", "--max-pause", "60000", std::to_string(pid)});
  CAPTURE(run.errors);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  std::map<std::string, Seen> stacks;
  for (const auto thread : parser.parse(run.output)["threads"].get_array()) {
    Seen seen;
    seen.end = std::string(thread["end"].get_string().value());
    for (const auto frame : thread["frames"].get_array()) {
      std::string_view function;
      if (frame["function"].get(function) != simdjson::SUCCESS) function = "";
      seen.functions.emplace_back(function);
    }
    std::uint64_t left_out = 0;
    if (thread["left_out"].get(left_out) != simdjson::SUCCESS) left_out = 0;
    seen.frames = seen.functions.size() + left_out;
    stacks[std::string(thread["name"].get_string().value())] = std::move(seen);
  }
  return stacks;
}

}  // namespace

TEST_CASE("corrupt stacks end with a mark, and the other threads are still reported") {
  LiveTarget target("corrupt");
  const auto stacks = stacks_of(target.pid());
  struct Way {
    const char* thread;
    const char* function;  // that it waits in
    const char* end;
    std::uint64_t most_frames;
  };
  const std::vector<Way> ways = {
      {"circle", "wait_without", "unknown", 4},        // frame pointers that point to themselves
      {"turns", "wait_without", "unknown", 4},         // or to each other
      {"guesses", "wait_without", "unknown", 100},     // only return addresses
      {"no-stack", "wait_without", "unknown", 1},      // a stack pointer into nowhere,
      {"no-address", "wait_without", "unknown", 1},    // that is not an address at all,
      {"code-stack", "wait_without", "unknown", 1},    // or into code
      {"zeroes", "wait_without", "unknown", 1},        //
      {"no-stack-lie", "wait_again", "unknown", 1},    // the same with tables
      {"in-place", "wait_in_place", "corrupt", 1},     // tables by which the stack does not end,
      {"below", "wait_below", "corrupt", 1},           // or goes down
      {"loop", "wait_in_loop", "unknown", 100},        // an expression without an end,
      {"nowhere", "wait_nowhere", "unknown", 100},     // that reads invalid memory,
      {"empty", "wait_empty", "unknown", 100},         // or has no operands
      {"signalled", "wait_signalled", "corrupt", 16},  // signals that interrupt each other
  };
  for (const Way& way : ways) {
    CAPTURE(way.thread);
    const auto found = stacks.find(way.thread);
    REQUIRE(found != stacks.end());
    REQUIRE_FALSE(found->second.functions.empty());
    CHECK(found->second.functions.front() == way.function);
    CHECK(found->second.end == way.end);
    CHECK(found->second.frames <= way.most_frames);
  }
  // A stack full of the same call.
  CHECK(stacks.at("again").frames > 10'000);
  CHECK(stacks.at("again").end == "corrupt");

  const Seen& sound = stacks.at("sound");
  CHECK(sound.end == "outermost");
  CHECK(std::find(sound.functions.begin(), sound.functions.end(), "stand_on_sound_stack") !=
        sound.functions.end());
  const Seen& first = stacks.at("target_corrupt");
  CHECK(first.end == "outermost");
  CHECK(std::find(first.functions.begin(), first.functions.end(), "main") != first.functions.end());
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
