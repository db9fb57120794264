// Stacks that cannot be walked end with a mark, and do not affect other stacks.

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

// The stacks of all threads, by the threads' names.
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
    const char* function;  // in which the thread waits
    const char* end;
    std::uint64_t most_frames;
  };
  const std::vector<Way> ways = {
      {"circle", "wait_without", "unknown", 4},        // a frame pointer points to itself
      {"turns", "wait_without", "unknown", 4},         // frame pointers point to each other
      {"guesses", "wait_without", "unknown", 100},     // there are only return addresses
      {"no-stack", "wait_without", "unknown", 1},      // the stack pointer is not in mapped memory
      {"no-address", "wait_without", "unknown", 1},    // the stack pointer is not an address
      {"code-stack", "wait_without", "unknown", 1},    // the stack pointer is in code
      {"zeroes", "wait_without", "unknown", 1},        // the stack is full of zeroes
      {"no-stack-lie", "wait_again", "unknown", 1},    // like "no-stack", but with tables
      {"in-place", "wait_in_place", "corrupt", 1},     // by the tables, the stack never ends
      {"below", "wait_below", "corrupt", 1},           // by the tables, the stack goes down
      {"loop", "wait_in_loop", "unknown", 100},        // a table's expression never ends
      {"nowhere", "wait_nowhere", "unknown", 100},     // a table's expression reads invalid memory
      {"empty", "wait_empty", "unknown", 100},         // a table's expression has no operands
      {"signalled", "wait_signalled", "corrupt", 16},  // signals interrupt each other
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
  // This stack is full of frames of the same call.
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
