// The page about snapshots as data shows the real output of its queries: the test takes them from
// the page itself.

#include <cstdlib>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/other_releases.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

// Runs a line of bash in a directory with the page's snapshot. $1 is the directory of the page and
// its script.
ToolRun try_page(const std::string& before, const std::string& tools) {
  const TemporaryDirectory directory;
  const char* const modules = std::getenv("HEAPATTACH_NPM");
  return run_in_shell(
      fmt::format("cd \"$2\" && cp \"$1/heap.jsonl\" . && {} "
                  "python3 \"$1/try_page.py\" \"$1/../../report/DATA.md\" {}",
                  before, tools),
      {CONSUMERS "/../data", directory.path(), CONSUMERS, modules == nullptr ? "" : modules});
}

// Runs the page's queries for an engine from npm, in check.sh --long. There are `queries` of them.
void check_engine(const std::string& name, const std::string& runner, int queries) {
  if (!is_long_run() || std::getenv("HEAPATTACH_NPM") == nullptr) return;
  const std::string prepare = fmt::format(
      "printf '#!/bin/sh\\nexec node \"%s/{0}\" \"%s\" \"$@\"\\n' \"$3\" \"$4\" >{1} && "
      "chmod +x {1} && PATH=$PWD:$PATH",
      runner, name);
  const ToolRun run = try_page(prepare, name);
  INFO(run.output << run.errors);
  CHECK(run.status == 0);
  CHECK(run.output == fmt::format("ran={}\n", queries));
}

}  // namespace

TEST_CASE("the page on data shows the output of jq and SQLite") {
  for (const char* tool : {"jq", "sqlite3"}) {
    if (run_in_shell("command -v \"$1\"", {tool}).status == 0) continue;
    print_skip(fmt::format("{} is not installed", tool));
    return;
  }
  const ToolRun run = try_page("", "jq sqlite3");
  INFO(run.output << run.errors);
  for (const Release& release : {release_of("jq", {"jq", "--version"}, {"1.6"}),
                                 release_of("sqlite3", {"sqlite3", "--version"}, {"3.40.1"})}) {
    // Another release may align its output differently.
    if (run.status != 0 && !release.is_tried) return print_untried(release, run.output);
  }
  CHECK(run.status == 0);
  CHECK(run.output == "ran=7\n");
}

TEST_CASE("the page on data shows the output of DuckDB") {
  check_engine("duckdb", "duckdb.mjs", 4);
}

TEST_CASE("the page on data shows the output of ClickHouse") {
  check_engine("clickhouse", "clickhouse.cjs", 3);
}

TEST_CASE("heapattach reads the snapshot of the page on data") {
  const std::string file = CONSUMERS "/../data/heap.jsonl";
  const ToolRun run = run_tool({"-q", "--count", "-f", "tsv", "--top", "2", file});
  INFO(run.errors);
  CHECK(run.status == 0);
  CHECK(run.output == "objects\tbytes\ttype\n12\t576\tShop::Session\n12\t384\tString\n");
}

}  // namespace heapattach
