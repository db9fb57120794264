// Reports for a browser, used in a real browser: consumers/html.mjs acts as a reader would, and
// consumers/pictures.mjs looks at the pictures that a reader would see.

#include <chrono>
#include <cstdlib>
#include <future>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

const std::string kSavedTrace = CONSUMERS "/../data/trace.jsonl";

void make(const std::vector<std::string>& arguments) {
  const ToolRun run = run_tool(arguments);
  CAPTURE(run.errors);
  REQUIRE(run.status == 0);
}

bool has_browser() {
  if (std::getenv("HEAPATTACH_NPM") == nullptr) {
    print_skip("HEAPATTACH_NPM does not say where playwright-core is");
    return false;
  }
  if (::access("/usr/bin/chromium", X_OK) == 0) return true;
  print_skip("chromium is not installed");
  return false;
}

// Types, variables and threads with names that could break a page.
std::string hostile_snapshot() {
  const std::vector<std::string> names{
      R"(</script><script>window.hacked = 1</script>)",
      R"(<img src=x onerror='window.hacked = 1'>)",
      R"(\"quoted\" & 'quoted')",
      "\u202eright to left\u202c \u2028 line\\u0000\\u001b[31m",
      "__proto__",
      "constructor",
      std::string(1 << 20, 'm'),
  };
  std::string text =
      "{\"record\":\"snapshot\",\"version\":1,\"tool\":\"heapattach 0.1.0\",\"pid\":4711,"
      "\"exe\":\"/srv/<b>app</b>\",\"source\":\"freeze\",\"live_only\":true}\n";
  for (const std::string& name : names) {
    text +=
        fmt::format("{{\"record\":\"type\",\"name\":\"{}\",\"known_from\":[\"dwarf\"]}}\n", name);
  }
  text += "{\"record\":\"thread\",\"tid\":4711,\"name\":\"<i>\\u202e\",\"state\":\"S\"}\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format(
        "{{\"record\":\"root\",\"kind\":\"global\",\"symbol\":\"{}\",\"address\":\"{:#x}\","
        "\"to\":\"{:#x}\"}}\n",
        names[i].substr(0, 100), 0x500000 + 8 * i, 0x10000 * (i + 1));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format(
        "{{\"record\":\"object\",\"address\":\"{:#x}\",\"type\":\"{}\",\"bytes\":{}}}\n",
        0x10000 * (i + 1), names[i], 64 * (i + 1));
  }
  return text + fmt::format(
                    "{{\"record\":\"end\",\"complete\":true,\"objects\":{0},\"bytes\":{1},"
                    "\"roots\":{0},\"skipped\":0}}\n",
                    names.size(), 32 * names.size() * (names.size() + 1));
}

void read_in_browser(const std::string& reader, const std::vector<std::string>& checks) {
  const char* const packages = std::getenv("HEAPATTACH_NPM");
  REQUIRE(packages != nullptr);
  std::vector<std::string> arguments{CONSUMERS "/" + reader, packages};
  arguments.insert(arguments.end(), checks.begin(), checks.end());
  const ToolRun run = run_in_shell("exec node \"$@\"", arguments);
  CAPTURE(run.errors);
  CHECK(run.status == 0);
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) print_figure(line);
}

}  // namespace

TEST_CASE("reports open in a browser, answer mouse and keys, and show names as text only") {
  if (!has_browser() || !is_target_built("leaking_debug")) return;
  const TemporaryDirectory files;
  const std::string before = files.file("before.jsonl");
  const std::string after = files.file("after.jsonl");
  const std::string report = files.file("after.html");
  const std::string growth = files.file("growth.html");
  const std::string hostile = files.file("hostile.html");
  {
    LiveTarget target("leaking_debug");
    const std::string pid = fmt::format("{}", target.pid());
    make({"-q", "-o", before, pid});
    (void)target.ask("cache=300");
    make({"-q", "-o", after, pid});
    CHECK(target.child().is_running());
  }
  make({"-q", "-o", report, after});
  make({"-q", "--sizes", "-f", "json", "-o", report + ".json", after});
  make({"-q", "--diff", before, after, "-o", growth});
  write_text(files.file("hostile.jsonl"), hostile_snapshot());
  make({"-q", "-o", hostile, files.file("hostile.jsonl")});
  read_in_browser("html.mjs", {"views=" + report, "growth=" + growth, "hostile=" + hostile});
}

TEST_CASE("what a reader sees of a heap is whole, readable and in its place") {
  if (!has_browser() || !is_target_built("leaking_debug")) return;
  const TemporaryDirectory files;
  const std::string before = files.file("before.jsonl");
  const std::string after = files.file("after.jsonl");
  const std::string heap = files.file("heap.html");
  const std::string growth = files.file("growth.html");
  const std::string hostile = files.file("hostile.html");
  {
    LiveTarget target("leaking_debug");
    const std::string pid = fmt::format("{}", target.pid());
    make({"-q", "-o", before, pid});
    (void)target.ask("cache=300");
    make({"-q", "-o", after, pid});
    CHECK(target.child().is_running());
  }
  make({"-q", "-o", heap, after});
  make({"-q", "--diff", before, after, "-o", growth});
  write_text(files.file("hostile.jsonl"), hostile_snapshot());
  make({"-q", "-o", hostile, files.file("hostile.jsonl")});
  read_in_browser("pictures.mjs", {heap, growth, hostile});
}

TEST_CASE("what a reader sees of processes, stacks and a trace is whole and in its place") {
  if (!has_browser() || !is_target_built("leaking_debug")) return;
  const TemporaryDirectory files;
  const std::string stacks = files.file("stacks.html");
  const std::string several = files.file("several.html");
  const std::string trace = files.file("trace.html");
  {
    LiveTarget target("leaking_debug");
    LiveTarget other("deadlock");
    const std::string pid = fmt::format("{}", target.pid());
    make({"-q", "--stacks", "-o", stacks, pid});
    make({"-q", "-o", several, pid, fmt::format("{}", other.pid())});
    CHECK(target.child().is_running());
    CHECK(other.child().is_running());
  }
  make({"-q", "trace", "-o", trace, kSavedTrace});
  read_in_browser("html.mjs", {"several=" + several});
  read_in_browser("pictures.mjs", {stacks, several, trace});
}

TEST_CASE("a trace is a page of sites and types, and part of the page of its process's heap") {
  if (!has_browser() || !is_target_built("leaking_debug")) return;
  const TemporaryDirectory files;
  const std::string saved = files.file("trace.html");
  const std::string traced = files.file("traced.html");
  make({"-q", "trace", "-o", saved, kSavedTrace});
  make({"-q", "trace", "--by", "type", "-f", "json", "-o", saved + ".json", kSavedTrace});
  {
    LiveTarget target("leaking_debug");
    const std::string pid = fmt::format("{}", target.pid());
    auto ends = std::async(std::launch::async, [&] {
      return run_tool({"-q", "trace", "--every", "256", "--for", "2s", "-o", traced, pid});
    });
    while (ends.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      (void)target.ask("cache=20");
    }
    const ToolRun run = ends.get();
    INFO(run.errors);
    CHECK((run.status == 0 || run.status == 7));  // on a busy machine, samples may be lost
    CHECK(target.child().is_running());
  }
  read_in_browser("html.mjs", {"trace=" + saved, "traced=" + traced});
}

TEST_CASE("a report on ten million objects opens within two seconds") {
  if (!is_long_run() || !has_browser() || !is_target_built("big_heap")) return;
  const TemporaryDirectory files;
  const LiveTarget target("big_heap", {"10000000"});
  make({"-q", "-o", files.file("big.html"), fmt::format("{}", target.pid())});
  read_in_browser("html.mjs", {"large=" + files.file("big.html")});
}

}  // namespace heapattach
