// One heap from different sources: the process, its snapshot, its core file, and the dumps that a
// routine in it writes. Each report is the same for all sources, except for what a source lacks;
// the report mentions that.

#include <csignal>
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

bool says(const ToolRun& run, const std::string& text) {
  return (run.output + run.errors).find(text) != std::string::npos;
}

// The heap of a service that has kept 300 products too many, saved in every way.
struct Sources {
  Sources() {
    (void)target.ask("cache=300");
    (void)target.ask("note=20");
    // The target has answered, but may not have begun to wait for the next question.
    REQUIRE(eventually(30s, [&] { return state_of(target.pid(), target.pid()) == 'S'; }));
    for (const auto& [file, values] : {std::pair(&graph, false), std::pair(&full, true)}) {
      // The directory of the tests' heapattach does not contain its library.
      std::vector<std::string> arguments{"--inject", "--library", ROUTINE_LIBRARY,
                                         "--keep",   *file,       pid};
      if (values) arguments.emplace_back("--values");
      const ToolRun run = run_tool(arguments);
      REQUIRE_MESSAGE(run.status == 0, run.errors);
    }
    REQUIRE(run_in_shell("gzip -k \"$1\"", {full}).status == 0);
    target.child().signal(SIGSTOP);
    REQUIRE(eventually(30s, [&] { return state_of(target.pid(), target.pid()) == 'T'; }));
    const ToolRun saved = run_tool({"--values=4000", "-o", snapshot, pid});
    REQUIRE_MESSAGE(saved.status == 0, saved.errors);
    has_core = run_in_shell("command -v gcore && gcore -o \"$1\" \"$2\" </dev/null",
                            {directory.file("core"), pid})
                   .status == 0;
    if (!has_core) print_skip("no gcore");
  }

  // A report on the process itself.
  [[nodiscard]] ToolRun of_process(std::vector<std::string> report) const {
    report.push_back(pid);
    return run_tool(report);
  }
  // Checks that snapshot and core file give identical reports.
  void check_same(const std::vector<std::string>& report) const {
    const ToolRun live = of_process(report);
    CAPTURE(live.errors);
    CHECK(live.status == 0);
    for (const std::string& file : {snapshot, core}) {
      if (file == core && !has_core) continue;
      std::vector<std::string> arguments = report;
      arguments.push_back(file);
      const ToolRun run = run_tool(arguments);
      CAPTURE(run.errors);
      CAPTURE(arguments);
      CHECK(run.status == 0);
      CHECK(run.output == live.output);
    }
  }
  [[nodiscard]] ToolRun of_dump(std::vector<std::string> report, const std::string& dump) const {
    report.insert(report.end(), {"--type-info", target_path(kLeaking) + ".ids", dump});
    return run_tool(report);
  }

  LiveTarget target{kLeaking};
  TemporaryDirectory directory;
  std::string pid = std::to_string(target.pid());
  std::string snapshot = directory.file("heap.jsonl.gz");
  std::string core = fmt::format("{}.{}", directory.file("core"), target.pid());
  std::string graph = directory.file("graph.dump");
  std::string full = directory.file("full.dump");
  bool has_core = false;
};

}  // namespace

TEST_CASE("the process and its snapshot and core file give the same reports") {
  if (!is_target_built(kLeaking)) return;
  const Sources sources;
  std::vector<std::vector<std::string>> reports{{"--count", "-f", "json"},
                                                {"--sizes", "--by", "holder"},
                                                {"--why", "Product"},
                                                {"--strings"},
                                                {"-f", "folded"}};
  if (is_long_run()) {
    reports.insert(reports.end(), {{"--suspects"}, {"--graph", "Product"}, {"-f", "svg"}});
  }
  for (const std::vector<std::string>& report : reports) {
    sources.check_same(report);
  }
  // A file contains only the collector's heap.
  const ToolRun summary = sources.of_process({"--summary"});
  REQUIRE_MESSAGE(summary.status == 0, summary.errors);
  const std::string heap = summary.output.substr(summary.output.find("live objects"));
  CHECK(says(run_tool({"--summary", sources.core}), heap) == sources.has_core);
  const ToolRun grown = run_tool({"--diff", sources.snapshot, sources.core});
  CHECK(says(grown, "assumed to be the same process") == sources.has_core);
  CHECK(says(grown, "stayed") == sources.has_core);
}

TEST_CASE("a routine's dumps give the same types, and reports mention what they lack") {
  if (!is_target_built(kLeaking)) return;
  const Sources sources;
  const ToolRun live = sources.of_process({"--count", "-f", "tsv"});
  for (const std::string& dump : {sources.graph, sources.full, sources.full + ".gz"}) {
    CAPTURE(dump);
    const ToolRun counts = sources.of_dump({"--count", "-f", "tsv"}, dump);
    CHECK(counts.status == 0);
    for (const std::string type :
         {"Product", "Shop", "Array(String)", "(buffer of Hash(String, Product))"}) {
      CAPTURE(type);
      const std::size_t end = live.output.find("\t" + type + "\n");
      REQUIRE(end != std::string::npos);
      const std::size_t begin = live.output.rfind('\n', end) + 1;
      CHECK(says(counts, "\n" + live.output.substr(begin, end - begin) + "\t" + type + "\n"));
    }
    const ToolRun graph = sources.of_dump({"--graph", "Product"}, dump);
    CHECK(graph.status == 0);
    CHECK(says(graph, "Hash(String, Product)"));
    for (const char* report : {"--sizes", "--suspects"}) {
      const ToolRun run = sources.of_dump({report}, dump);
      CHECK(run.status == 2);
      CHECK(says(run, "has no roots"));
    }
    const ToolRun stacks = run_tool({"--stacks", dump});
    CHECK(stacks.status == 7);
    CHECK(says(stacks, "the snapshot has no threads"));
  }
  const std::string twenty = "20   1600  String  \"sold out, and nobody told the visitor\"";
  CHECK(says(sources.of_process({"--strings"}), twenty));
  CHECK(says(sources.of_dump({"--strings"}, sources.full), twenty));
}

}  // namespace heapattach
