// Reports on a service that leaks: they name the leaking path as a newcomer would read it, for the
// process and for a saved file of it.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
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

constexpr const char* kLeaking = "leaking_debug";

std::string output_of(const std::vector<std::string>& arguments) {
  const ToolRun run = run_tool(arguments);
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  return run.output;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The line of the program that contains this text; there is only one.
std::size_t line_of(std::string_view text) {
  const std::string source = read_text(CONSUMERS "/../targets/leaking.cr");
  const std::size_t at = source.find(text);
  REQUIRE(at != std::string::npos);
  return 1 + static_cast<std::size_t>(
                 std::count(source.begin(), source.begin() + static_cast<long>(at), '\n'));
}

enum class Meanwhile : std::uint8_t { Runs, Stopped };

// A process that has leaked as `how` says, and a snapshot file of it.
struct Leaked {
  explicit Leaked(const std::string& how, Meanwhile meanwhile = Meanwhile::Runs)
      : target(kLeaking) {
    (void)target.ask(how);
    // The target has answered, but may not have begun to wait for the next question.
    REQUIRE(eventually(30s, [&] { return state_of(target.pid(), target.pid()) == 'S'; }));
    if (meanwhile == Meanwhile::Stopped) {
      REQUIRE(::kill(target.pid(), SIGSTOP) == 0);
      REQUIRE(eventually(30s, [&] { return state_of(target.pid(), target.pid()) == 'T'; }));
    }
    output_of({"-q", "-o", directory.file("heap.jsonl.gz"), fmt::format("{}", target.pid())});
    sources = {fmt::format("{}", target.pid()), directory.file("heap.jsonl.gz")};
  }

  LiveTarget target;
  TemporaryDirectory directory;
  std::vector<std::string> sources;
};

}  // namespace

TEST_CASE("a cache that never evicts is the first suspect, and the reason why its contents live") {
  if (!is_target_built(kLeaking)) return;
  Leaked leaked("cache=1000");
  for (const std::string& source : leaked.sources) {
    CAPTURE(source);
    const std::string suspects = output_of({"-q", "--suspects", source});
    CAPTURE(suspects);
    CHECK(contains(suspects, "1. one Hash(String, Product) keeps "));
    CHECK(contains(suspects, "global SHOP"));
    CHECK(contains(suspects, "@products → "));
    const std::string why = output_of({"-q", "--why", "Product", source});
    CAPTURE(why);
    CHECK(why.starts_with("1000 objects of Product, "));
    CHECK(contains(why, "of 1000 through global SHOP of target_leaking_debug → @products → "));
  }
  CHECK(harm_done_to(leaked.target.pid()) == "");
}

TEST_CASE("closures that capture their requests are named, with the variable that keeps them") {
  if (!is_target_built(kLeaking)) return;
  Leaked leaked("closure=1000");
  for (const std::string& source : leaked.sources) {
    CAPTURE(source);
    const std::string suspects = output_of({"-q", "--suspects", source});
    CAPTURE(suspects);
    CHECK(contains(suspects, "1. one Array(Proc(String)) keeps "));
    CHECK(contains(suspects, "@observers → "));
    CHECK(contains(suspects, "Request"));
    const std::string why = output_of({"-q", "--why", "Request", source});
    CAPTURE(why);
    CHECK(contains(why, "through global SHOP of target_leaking_debug → @observers → "));
  }
  CHECK(harm_done_to(leaked.target.pid()) == "");
}

TEST_CASE("reports are the same from a process and from its saved file") {
  if (!is_target_built(kLeaking)) return;
  // A fiber of Crystal's own wakes every five seconds, and its stack is then the one in use.
  Leaked leaked("closure=50", Meanwhile::Stopped);
  const std::vector<std::vector<std::string>> reports = {{"--suspects"},
                                                         {"--why", "Request"},
                                                         {"--graph", "Request"},
                                                         {"--why", "Shop", "-f", "json"},
                                                         {"--sizes", "--by", "holder"}};
  for (std::vector<std::string> report : reports) {
    CAPTURE(report[0]);
    report.emplace_back("-q");
    std::vector<std::string> outputs;
    for (const std::string& source : leaked.sources) {
      std::vector<std::string> arguments = report;
      arguments.push_back(source);
      outputs.push_back(output_of(arguments));
    }
    CHECK(outputs[0] == outputs[1]);
  }
}

TEST_CASE("references from a C program's stack show frame and variable, from process and file") {
  for (const char* name : {"typed_c_gcc5", "typed_c_clang5"}) {
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    REQUIRE(eventually(30s, [&] { return state_of(target.pid(), target.pid()) == 'S'; }));
    TemporaryDirectory directory;
    const std::string file = directory.file("heap.jsonl");
    output_of({"-q", "-o", file, fmt::format("{}", target.pid())});
    const std::string why = output_of({"-q", "--why", "struct session", file});
    CAPTURE(why);
    for (const char* held : {"wait_below (", "variable parameter\n", "hold_in_array (",
                             "variable array\n", "variable inside\n", "typed_c.c:"}) {
      CHECK(contains(why, held));
    }
    CHECK(contains(why, fmt::format("    thread {} target_typed_c_, frame ", target.pid())));
    CHECK(contains(why, "through variable array of hold_in_array on stacks of threads"));
    const std::string live =
        output_of({"-q", "--why", "struct session", "-f", "json", fmt::format("{}", target.pid())});
    CHECK(live == output_of({"-q", "--why", "struct session", "-f", "json", file}));
    CHECK(contains(live, "\"function\":\"wait_below\",\"file\":\""));
    CHECK(contains(live, "\"variable\":\"parameter\""));
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("a C++ program's globals have the names of its source, in every report and file") {
  constexpr const char* kName = "typed_cxx_gcc5";
  if (!is_target_built(kName)) return;
  LiveTarget target(kName);
  const std::string pid = fmt::format("{}", target.pid());
  TemporaryDirectory directory;
  output_of({"-q", "-o", directory.file("heap.jsonl"), pid});
  output_of({"-q", "-o", directory.file("heap.html"), pid});
  const std::string texts[] = {output_of({"-q", "--why", "shop::Everything", pid}),
                               output_of({"-q", "--graph", "shop::Everything", pid}),
                               read_text(directory.file("heap.jsonl")),
                               read_text(directory.file("heap.html"))};
  for (const std::string& text : texts) {
    CHECK(contains(text, "shop::everything"));
    CHECK_FALSE(contains(text, "_ZN4shop"));
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("jobs of fibers that wait forever are named with the fibers") {
  if (!is_target_built(kLeaking)) return;
  Leaked leaked("fiber=300");
  for (const std::string& source : leaked.sources) {
    CAPTURE(source);
    const std::string suspects = output_of({"-q", "--suspects", source});
    CAPTURE(suspects);
    CHECK(contains(suspects, "Job"));
    CHECK(contains(suspects, "fiber"));
    const std::string why = output_of({"-q", "--why", "Job", source});
    CAPTURE(why);
    CHECK(contains(why, "objects of Job, "));
    CHECK(contains(why, " through variable job of Shop#finish on stacks of fibers, for instance"));
    CHECK(contains(why, "    fiber waiter (0x"));
    CHECK(
        contains(why, fmt::format("leaking.cr:{}), variable job\n", line_of("job.done.receive"))));
  }
  CHECK(harm_done_to(leaked.target.pid()) == "");
}

}  // namespace heapattach
