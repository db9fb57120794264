// Duplicate strings of a process and of its snapshot. A snapshot without texts cannot show them,
// and the report mentions that.

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

constexpr const char* kLeaking = "leaking_debug";
constexpr const char* kText = "sold out, and nobody told the visitor";
constexpr std::int64_t kCopies = 200;

std::int64_t copies_of(const ToolRun& run, std::string_view text) {
  INFO(run.errors);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const simdjson::dom::object report = parser.parse(run.output);
  for (const simdjson::dom::object row : simdjson::dom::array(report["duplicates"])) {
    if (std::string_view(row["text"]) == text) return row["copies"];
  }
  return 0;
}

}  // namespace

TEST_CASE("texts that a service keeps again and again are listed, live and from a file") {
  if (!is_target_built(kLeaking)) return;
  LiveTarget target(kLeaking);
  (void)target.ask(fmt::format("note={}", kCopies));
  const std::string pid = fmt::format("{}", target.pid());
  CHECK(copies_of(run_tool({"--strings", "-f", "json", pid}), kText) == kCopies);
  const ToolRun table = run_tool({"--strings", "--top", "1", pid});
  CHECK(table.output.find(fmt::format("String  \"{}\"", kText)) != std::string::npos);

  const TemporaryDirectory directory;
  const std::string with = directory.file("with.jsonl.gz");
  const std::string cut = directory.file("cut.jsonl");
  const std::string without = directory.file("without.jsonl");
  REQUIRE(run_tool({"--values", "-o", with, pid}).status == 0);
  REQUIRE(run_tool({"--values=8", "-o", cut, pid}).status == 0);
  REQUIRE(run_tool({"-o", without, pid}).status == 0);
  CHECK(copies_of(run_tool({"--strings", "-f", "json", with}), kText) == kCopies);
  const ToolRun of_cut = run_tool({"--strings", cut});
  CHECK(of_cut.status == 0);
  CHECK(of_cut.output.find("the snapshot has only the start") != std::string::npos);
  CHECK(of_cut.output.find("sold out") == std::string::npos);
  const ToolRun nothing = run_tool({"--strings", without});
  CHECK(nothing.status == 1);
  CHECK(nothing.output.empty());
  CHECK(nothing.errors.find("taken with --values") != std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
