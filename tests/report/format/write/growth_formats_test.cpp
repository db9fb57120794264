#include "report/format/write/growth_formats.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/small_snapshot.h"

namespace heapattach {

namespace {

GrowthReport sample() {
  GrowthReport report;
  report.sources = {{"a.jsonl", 4711, "/srv/app", "2026-11-20T11:34:07.215Z", 110, 5120},
                    {"b.jsonl", 4711, "/srv/app", "2026-11-20T11:44:07.871Z", 1100, 52800}};
  report.difference.rows = {{"Session", {100, 4800}, {1100, 52800}, {100, 4800}, {}},
                            {"Job\x1b", {10, 320}, {}, {}, {}}};
  report.difference.total = {"", {110, 5120}, {1100, 52800}, {100, 4800}, {}};
  return report;
}

}  // namespace

TEST_CASE("the table of growth shows the sources, what grew, what disappeared, and the total") {
  CHECK(format_growth_table(sample(), {}) ==
        "1. a.jsonl  2026-11-20T11:34:07.215Z   110 objects   5120 bytes\n"
        "2. b.jsonl  2026-11-20T11:44:07.871Z  1100 objects  52800 bytes\n"
        "\n"
        "+bytes  +objects  before  after  stayed  type\n"
        "+48000     +1000     100   1100     100  Session\n"
        "  -320       -10      10      0       0  Job\\x1b (gone)\n"
        "+47680      +990     110   1100     100  all types\n"
        "stayed: objects of 1 that still exist in 2\n");
}

TEST_CASE("between two processes, individual objects are not compared, and the table says why") {
  GrowthReport report = sample();
  report.origins = {false, {"a.jsonl and b.jsonl are of two processes"}};
  report.difference.left_out_rows = 2;
  const std::string text = format_growth_table(report, {});
  CHECK(text.find("stayed") == std::string::npos);
  CHECK(text.find("    +0        +0       0      0  (2 more types)\n") != std::string::npos);
  CHECK(text.ends_with("note: a.jsonl and b.jsonl are of two processes\n"));
  const std::string json = format_growth_json(report);
  CHECK(json.find("\"same_process\":false,\"remarks\":[\"a.jsonl and") != std::string::npos);
  CHECK(json.find("stayed") == std::string::npos);
}

TEST_CASE("with three snapshots, objects that appeared and stayed come first") {
  GrowthReport report = sample();
  report.kind = GrowthKind::Three;
  report.sources.push_back({"c.jsonl", 4711, "", "", 1, 1});
  report.difference.rows[0].kept = {900, 43200};
  const std::string text = format_growth_table(report, {});
  CHECK(text.find("kept bytes  kept  +bytes") != std::string::npos);
  CHECK(text.find("     43200   900  +48000     +1000     100   1100     100  Session\n") !=
        std::string::npos);
  CHECK(format_growth_json(report).find("\"kept_objects\":900,\"kept_bytes\":43200}") !=
        std::string::npos);
}

TEST_CASE("growth as JSON is one line with a version") {
  GrowthReport report = sample();
  report.difference.rows.pop_back();
  report.difference.rows[0].before = {};
  CHECK(format_growth_json(report) ==
        R"({"version":1,"report":"diff","snapshots":[)"
        R"({"source":"a.jsonl","pid":4711,"exe":"/srv/app","captured":"2026-11-20T11:34:07.215Z",)"
        R"("objects":110,"bytes":5120},)"
        R"({"source":"b.jsonl","pid":4711,"exe":"/srv/app","captured":"2026-11-20T11:44:07.871Z",)"
        R"("objects":1100,"bytes":52800}],"same_process":true,)"
        R"("grown_objects":990,"grown_bytes":47680,"types":[{"type":"Session",)"
        R"("objects_before":0,"bytes_before":0,"objects_after":1100,"bytes_after":52800,)"
        R"("grown_objects":1100,"grown_bytes":52800,"stayed_objects":100,"stayed_bytes":4800,)"
        R"("new":true}]})"
        "\n");
}

TEST_CASE("the answer comes before the table: what is new, how much it retains, what holds it") {
  SnapshotBuilder build;
  const auto session = build.type("Session");
  build.object(0x1000, build.type("Cache"), 16, {{8, 1}});
  build.object(0x2000, session, 48);
  snapshot::Root root;
  root.symbol = "CACHE";
  root.module = "/srv/app";
  build.snapshot.roots.push_back(root);
  GrowthReport report = sample();
  report.difference.has_retained = true;
  report.difference.rows[0].retained = analyze::RetainedGrowth{9600, 105600};
  report.last = &build.snapshot;
  report.holders.new_bytes = 100000;
  report.holders.found = {{"Session",
                           1000,
                           96000,
                           {{"String", 1000, 48000}},
                           998,
                           "global CACHE → +8",
                           0,
                           {{0, 0}, {1, 1}}}};
  const std::string text = format_growth_table(report, {});
  CHECK(text.find("\n\n1. 1000 new Session retain 96000 bytes, 96 % of what is new\n"
                  "  with 1000 String, 48000 bytes\n"
                  "  998 of them through global CACHE → +8, for instance\n") != std::string::npos);
  CHECK(text.find("      +8 → 0x2000 Session\n\n+bytes  +retained") != std::string::npos);
  CHECK(text.find("+48000     +96000     +1000") != std::string::npos);
  const std::string json = format_growth_json(report);
  CHECK(json.find(R"("retained_before":9600,"retained_after":105600,"grown_retained":96000)") !=
        std::string::npos);
  CHECK(json.find(R"("new_bytes":100000,"holders":[{"sentence":"1000 new Session)") !=
        std::string::npos);
  CHECK(json.find(R"("path":[{"address":"0x1000","type":"Cache"},{"by":"+8",)") !=
        std::string::npos);
  report.origins.is_same_process = false;
  CHECK(format_growth_table(report, {})
            .find("1. 1000 Session retain 96000 bytes; there were fewer before\n") !=
        std::string::npos);
}

}  // namespace heapattach
