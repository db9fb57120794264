// A service whose memory only grows. The difference of two snapshots must name the culprit; three
// snapshots must not count objects that came and went.

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

constexpr const char* kLeaking = "leaking_debug";
constexpr int kLeaked = 300;
// So many objects may still be referenced by registers or words on stacks.
constexpr std::int64_t kLeftOver = 20;

// The number under `key` in the row of a type; 0 if there is none.
std::int64_t number_of(const std::string& json, std::string_view type, std::string_view key) {
  simdjson::dom::parser parser;
  const simdjson::dom::object report = parser.parse(json);
  for (const simdjson::dom::object row : simdjson::dom::array(report["types"])) {
    if (std::string_view(row["type"]) == type) return row[key];
  }
  return 0;
}

// Whether the path to the first leak begins at the root `root` and continues with `then`.
bool is_held_through(const std::string& json, std::string_view root, std::string_view then) {
  simdjson::dom::parser parser;
  const simdjson::dom::object report = parser.parse(json);
  const std::string_view summary = report["holders"].at(0)["summary"];
  INFO(summary);
  return summary.find(root) != std::string_view::npos &&
         summary.find(then) != std::string_view::npos;
}

void save(const LiveTarget& target, const std::string& file) {
  const ToolRun run = run_tool({"-q", "-o", file, fmt::format("{}", target.pid())});
  INFO(run.errors);
  REQUIRE(run.status == 0);
}

std::string leak(LiveTarget& target, std::string_view how, int count = kLeaked) {
  (void)target.ask(fmt::format("{}={}", how, count));
  return fmt::format("{}={}", how, count);
}

// The growth, as JSON, while the target does what `how` asks for.
std::string growth_of(LiveTarget& target, std::string_view how) {
  const TemporaryDirectory directory;
  const std::string before = directory.file("before.jsonl");
  const std::string after = directory.file("after.jsonl.gz");
  save(target, before);
  leak(target, how);
  save(target, after);
  const ToolRun run = run_tool({"--diff", before, after, "-f", "json"});
  INFO(run.errors);
  REQUIRE(run.status == 0);
  CHECK(run.output.find("\"same_process\":true") != std::string::npos);
  CHECK(run.output.find("remarks") == std::string::npos);
  return run.output;
}

bool is_about(std::int64_t value, std::int64_t wanted) {
  return value >= wanted && value <= wanted + kLeftOver;
}

}  // namespace

TEST_CASE("a difference names what a service forgets to drop") {
  if (!is_target_built(kLeaking)) return;
  LiveTarget target(kLeaking);
  SUBCASE("a cache that never evicts") {
    const std::string grown = growth_of(target, "cache");
    CHECK(number_of(grown, "Product", "grown_objects") == kLeaked);
    CHECK(is_held_through(grown, "global SHOP", "@products"));
    CHECK(number_of(grown, "Request", "grown_objects") <= kLeftOver);
  }
  SUBCASE("a closure that captures its request") {
    const std::string grown = growth_of(target, "closure");
    CHECK(is_about(number_of(grown, "Request", "grown_objects"), kLeaked));
    // Each of the closures retains its request, of more than 200 bytes.
    CHECK(number_of(grown, "(closure of Proc(String))", "grown_retained") > 200 * kLeaked);
    CHECK(is_held_through(grown, "global SHOP", "@observers"));
  }
  SUBCASE("a fiber that waits for ever on a channel") {
    const std::string grown = growth_of(target, "fiber");
    CHECK(is_about(number_of(grown, "Fiber", "grown_objects"), kLeaked));
    CHECK(is_held_through(grown, "stacks of fibers", "Shop#finish"));
    CHECK(is_about(number_of(grown, "Job", "grown_objects"), kLeaked));
    CHECK(is_about(number_of(grown, "Channel(Int32)", "grown_objects"), kLeaked));
  }
  SUBCASE("nothing") {
    const std::string grown = growth_of(target, "serve");
    CHECK(number_of(grown, "Product", "grown_objects") == 0);
    CHECK(number_of(grown, "Request", "grown_objects") <= kLeftOver);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE(
    "of three snapshots, what came after the first and stayed is shown; the last may be live") {
  if (!is_target_built(kLeaking)) return;
  LiveTarget target(kLeaking);
  const TemporaryDirectory directory;
  leak(target, "cache", 100);
  save(target, directory.file("a.jsonl"));
  leak(target, "cache");
  save(target, directory.file("b.jsonl"));
  leak(target, "cache", 50);
  const std::vector<std::string> all{"--diff", directory.file("a.jsonl"), directory.file("b.jsonl"),
                                     fmt::format("{}", target.pid())};
  std::vector<std::string> arguments = all;
  for (const char* more : {"-f", "json", "--fail-if", "growth(Product) > 349"}) {
    arguments.emplace_back(more);
  }
  const ToolRun run = run_tool(arguments);
  INFO(run.errors);
  CHECK(run.status == 10);
  CHECK(run.errors.find("--fail-if 'growth(Product) > 349' is true: 350") != std::string::npos);
  CHECK(number_of(run.output, "Product", "stayed_objects") == 100);
  CHECK(number_of(run.output, "Product", "kept_objects") == kLeaked);
  CHECK(number_of(run.output, "Product", "grown_objects") == kLeaked + 50);
  const ToolRun table = run_tool(all);
  CHECK(table.status == 0);
  CHECK(table.output.find("kept: objects that are new in 2") != std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
}

// A growing process is watched in unit tests, where no round can come too early.
TEST_CASE("a watch on a service at rest names nothing") {
  if (!is_target_built(kLeaking)) return;
  const LiveTarget target(kLeaking);
  const ToolRun run = run_tool(
      {"-q", "--watch", "200ms", "--rounds", "2", "-f", "json", fmt::format("{}", target.pid())});
  INFO(run.errors);
  CHECK(run.status == 0);
  CHECK(run.output.find("\"types\":[]") != std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a condition on what a type retains sets the status") {
  if (!is_target_built(kLeaking)) return;
  LiveTarget target(kLeaking);
  leak(target, "cache");
  const std::string pid = fmt::format("{}", target.pid());
  CHECK(run_tool({"-q", "--count", "--fail-if", "retained(Shop) > 10k", pid}).status == 10);
  CHECK(run_tool({"-q", "--count", "--fail-if", "retained(Shop) > 1G", pid}).status == 0);
}

}  // namespace heapattach
