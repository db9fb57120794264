// Reports on a dump of pointers, as perf-tools writes it, have the same objects and types as
// reports on the process. The reports mention what such a dump lacks.

#include <chrono>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

constexpr const char* kLeaking = "leaking_debug";

struct Counts {
  explicit Counts(const ToolRun& run) {
    INFO(run.errors);
    REQUIRE(run.status == 0);
    report = parser.parse(run.output);
  }
  // The objects and bytes of a type.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> of(std::string_view type) const {
    for (const simdjson::dom::object row : simdjson::dom::array(report["types"])) {
      if (std::string_view(row["type"]) == type) return {row["objects"], row["bytes"]};
    }
    return {};
  }

  simdjson::dom::parser parser;
  simdjson::dom::object report;
};

}  // namespace

TEST_CASE("a dump of a service gives the same counts, and the reports mention what it lacks") {
  if (!is_target_built(kLeaking)) return;
  LiveTarget target(kLeaking);
  (void)target.ask("cache=300");
  // The target has answered, but may not have begun to wait for the next question.
  REQUIRE(eventually(30s, [&] { return state_of(target.pid(), target.pid()) == 'S'; }));
  const std::string pid = fmt::format("{}", target.pid());
  const TemporaryDirectory directory;
  const std::string dump = directory.file("heap.gcgrph");
  REQUIRE(run_tool({"-o", dump, pid}).status == 0);
  const std::string ids = target_path(kLeaking) + ".ids";
  Counts live(run_tool({"--count", "-f", "json", pid}));
  Counts dumped(run_tool({"--count", "-f", "json", "--type-info", ids, dump}));
  for (const std::string type :
       {"Product", "Shop", "Hash(String, Product)", "Fiber", "(buffer of Hash(String, Product))"}) {
    CAPTURE(type);
    CHECK(live.of(type).first > 0);
    CHECK(dumped.of(type).first == live.of(type).first);
    CHECK(dumped.of(type).second == live.of(type).second);
  }
  // An exported dump does not have the lengths that distinguish long Strings from buffers.
  CHECK(dumped.of("String").first >= 300);
  CHECK(dumped.of("String").first <= live.of("String").first);
  CHECK(std::int64_t(dumped.report["objects"]) == std::int64_t(live.report["objects"]));
  CHECK(std::int64_t(dumped.report["bytes"]) == std::int64_t(live.report["bytes"]));

  const ToolRun graph = run_tool({"--graph", "Product", "--type-info", ids, dump});
  CHECK(graph.status == 0);
  CHECK(graph.output.find("Hash(String, Product)") != std::string::npos);
  for (const char* report : {"--sizes", "--suspects"}) {
    const ToolRun run = run_tool({report, dump});
    CHECK(run.status == 2);
    CHECK(run.errors.find("has no roots") != std::string::npos);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
