// The memory of a process by use, compared with the numbers of the kernel and of the collector.
// Everything is counted once.

#include <algorithm>
#include <fstream>
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

std::int64_t resident_by_smaps(pid_t pid) {
  std::ifstream smaps(fmt::format("/proc/{}/smaps", pid));
  std::int64_t sum = 0;
  for (std::string word; smaps >> word;) {
    if (word != "Rss:") continue;
    std::int64_t kilobytes = 0;
    smaps >> kilobytes;
    sum += kilobytes * 1024;
  }
  return sum;
}

// Reading a page makes it resident, and the reader of a pipe wakes up now and then.
constexpr std::int64_t kTouched = std::int64_t{512} << 10U;

struct Summary {
  explicit Summary(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"--summary", "-f", "json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ToolRun run = run_tool(all);
    INFO(run.errors);
    REQUIRE(run.status == 0);
    report = parser.parse(run.output);
  }
  [[nodiscard]] std::int64_t heap(std::string_view key) const { return report["heap"][key]; }
  [[nodiscard]] simdjson::dom::object use(std::string_view name) const {
    for (const simdjson::dom::object row : simdjson::dom::array(report["memory"])) {
      if (std::string_view(row["use"]) == name) return row;
    }
    FAIL("no such use");
    return {};
  }

  simdjson::dom::parser parser;
  simdjson::dom::object report;
};

void check_sums(Summary& summary) {
  std::int64_t resident = 0;
  for (const simdjson::dom::object row : simdjson::dom::array(summary.report["memory"])) {
    resident += std::int64_t(row["resident_bytes"]);
  }
  CHECK(resident == std::int64_t(summary.report["rss_bytes"]));
  CHECK(summary.heap("live_bytes") + summary.heap("unreachable_bytes") +
            summary.heap("fragmented_bytes") + summary.heap("free_bytes") +
            summary.heap("unmapped_bytes") ==
        summary.heap("heap_bytes"));
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a summary agrees with the collector's own numbers and with the kernel's") {
  for (const char* name : {"known_counters", "known_counters_static"}) {
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    Answer own = target.ask();
    const std::int64_t before = resident_by_smaps(target.pid());
    Summary summary({fmt::format("{}", target.pid())});
    const std::int64_t after = resident_by_smaps(target.pid());
    check_sums(summary);
    CHECK(summary.heap("heap_bytes") == own.at("heap") + own.at("unmapped"));
    CHECK(summary.heap("free_bytes") == own.at("free"));
    CHECK(summary.heap("unmapped_bytes") == own.at("unmapped"));
    const std::int64_t rss = summary.report["rss_bytes"];
    // Pages of files come and go as the machine needs its memory.
    CHECK(rss >= std::min(before, after) - kTouched);
    CHECK(rss <= std::max(before, after) + kTouched);
    // Blocks in use are resident, because they were written to when they were allocated.
    const std::int64_t in_use = own.at("heap") - own.at("free");
    CHECK(std::int64_t(summary.use("heap_in_use")["mapped_bytes"]) == in_use);
    CHECK(std::int64_t(summary.use("heap_in_use")["resident_bytes"]) <= in_use);
    CHECK(std::int64_t(summary.use("heap_in_use")["resident_bytes"]) >= in_use / 2);
    CHECK(std::int64_t(summary.use("thread_stacks")["count"]) >= 1);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("counts of several processes are one table, and one set of metrics") {
  const char* const name = "known_counters";
  if (!is_target_built(name)) return;
  LiveTarget one(name);
  LiveTarget other(name);
  const std::vector<std::string> pids{fmt::format("{}", one.pid()), fmt::format("{}", other.pid())};
  const ToolRun table = run_tool({"count", "-q", "-f", "csv", pids[0], pids[1]});
  CHECK(table.status == 0);
  CHECK(table.output.starts_with("pid,objects,bytes,type\r\n"));
  CHECK(times(table.output, "objects,bytes") == 1);
  for (const std::string& pid : pids) CHECK(times(table.output, "\n" + pid + ",") > 0);
  const ToolRun metrics = run_tool({"count", "-q", "-f", "openmetrics", pids[0], pids[1]});
  CHECK(metrics.status == 0);
  CHECK(times(metrics.output, "# TYPE heapattach_objects gauge\n") == 1);
  CHECK(times(metrics.output, "\nheapattach_objects{") == 2);
  CHECK(times(metrics.output, "# EOF\n") == 1);
  CHECK(metrics.output.ends_with("# EOF\n"));
}

TEST_CASE("reports say whose the memory is that no heap has") {
  if (run_in_shell("test -x /usr/bin/python3", {}).status != 0) {
    return print_skip("/usr/bin/python3 is not installed");
  }
  LiveTarget target("/usr/bin/python3", {"-c",
                                         "import time\n"
                                         "values = [str(i) for i in range(300000)]\n"
                                         "print('ready', flush=True)\n"
                                         "time.sleep(1000)"});
  const std::string pid = fmt::format("{}", target.pid());
  Summary summary({pid});
  CHECK(std::string_view(summary.report["objects_of"]) == "CPython");
  // The memory of CPython's own allocator is distinguished from malloc's.
  CHECK(std::int64_t(summary.use("other")["resident_bytes"]) > 300000 * 48);
  CHECK(std::int64_t(summary.use("malloc")["resident_bytes"]) <= summary.heap("heap_bytes"));
  constexpr const char* kSentence = "CPython keeps small objects in arenas";
  CHECK(times(run_tool({"summary", pid}).output, kSentence) == 1);
  CHECK(times(run_tool({"diagnose", pid}).output, "the objects of CPython; try: ") == 1);
  CHECK(times(run_tool({"count", pid}).errors, kSentence) == 1);
  CHECK(times(run_tool({"count", "--heap", "malloc", pid}).errors, kSentence) == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a summary counts the stacks of fibers, and a file does not show memory") {
  const char* const name = "leaking_debug";
  if (!is_target_built(name)) return;
  LiveTarget target(name);
  (void)target.ask("fiber=50");
  const std::string pid = fmt::format("{}", target.pid());
  for (const char* how : {"freeze", "clone"}) {
    CAPTURE(how);
    Summary summary({"--snapshot", how, pid});
    check_sums(summary);
    CHECK(std::int64_t(summary.use("fiber_stacks")["count"]) >= 50);
    CHECK(std::int64_t(summary.use("fiber_stacks")["resident_bytes"]) >= 50 * 4096);
    CHECK(std::int64_t(summary.use("thread_stacks")["count"]) >= 1);
  }
  const TemporaryDirectory directory;
  const std::string file = directory.file("a.jsonl");
  REQUIRE(run_tool({"-o", file, pid}).status == 0);
  const ToolRun of_file = run_tool({"--summary", file});
  CHECK(of_file.status == 0);
  CHECK(of_file.output.find("does not contain the process's memory mappings") != std::string::npos);
  CHECK(of_file.output.find("live objects") != std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
