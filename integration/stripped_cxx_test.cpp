// In C++ programs without symbols, classes still have names, and as many objects as the program
// says.

#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

std::map<std::string, std::int64_t> counts_of(pid_t pid) {
  const ToolRun run = run_tool({"--count", "-f", "json", fmt::format("{}", pid)});
  INFO(run.errors);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(run.output);
  std::map<std::string, std::int64_t> counts;
  for (const simdjson::dom::element row : root["types"]) {
    counts[std::string{std::string_view{row["type"]}}] += std::int64_t{row["objects"]};
  }
  return counts;
}

}  // namespace

TEST_CASE("the objects of a stripped C++ program are counted by class, however it was linked") {
  int checked = 0;
  for (const char* form :
       {"shared", "static", "fixed", "writable", "beside_code", "collected", "collected_static"}) {
    const std::string name = fmt::format("stripped_classes_{}", form);
    if (!is_target_built(name)) continue;
    ++checked;
    CAPTURE(name);
    LiveTarget target(name);
    const Answer truth = target.ask();
    std::map<std::string, std::int64_t> counts = counts_of(target.pid());
    for (const auto& [key, count] : truth) {
      if (key == "shared") continue;
      std::string type = key;
      std::replace(type.begin(), type.end(), '-', ' ');
      CAPTURE(type);
      CHECK(counts[type] == count);
    }
    // std::make_shared puts the object into its control block.
    CHECK(counts["(std::make_shared<shop::LoggedJob>)"] == truth.at("shared"));
    CHECK(harm_done_to(target.pid()) == "");
  }
  if (checked == 0) print_skip("no stripped C++ program was built");
}

}  // namespace heapattach
