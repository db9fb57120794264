// Every export names the service that a process says it is, in OpenTelemetry's process context.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/serving/server.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> publishing(const std::string& how) {
  return {how, "service.name=shop", "service.version=1.2", "team=blue"};
}

constexpr const char* kResource =
    R"("resource":{"service.name":"shop","service.version":"1.2","team":"blue"})";

ToolRun report(const LiveTarget& target, std::vector<std::string> words) {
  if (words.front() != "stacks") words.insert(words.begin(), {"--heap", "malloc"});
  words.insert(words.begin(), "-q");
  words.push_back(std::to_string(target.pid()));
  return run_tool(words);
}

}  // namespace

TEST_CASE("a process context is in every JSON, and in the texts for people") {
  for (const std::string how : {"memfd", "anonymous"}) {
    CAPTURE(how);
    LiveTarget target("publishes", publishing(how));
    if (how == "anonymous" && target.greeting().at("named") == 0) {
      print_skip("this kernel has no names for anonymous memory");
      continue;
    }
    for (const std::string name : {"count", "stacks", "diagnose", "summary", "check"}) {
      CAPTURE(name);
      const ToolRun run = report(target, {name, "--json"});
      CHECK_MESSAGE(has(run.output, kResource), run.output);
    }
    CHECK(has(report(target, {"check"}).output,
              "\nservice     shop; service.version 1.2, team blue\n"));
    CHECK(has(report(target, {"stacks"}).output, ", service shop: 1 thread"));
    CHECK(has(report(target, {"summary"}).output, ", service shop, "));
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("a process context is kept in saved files, and in what is made of them") {
  LiveTarget target("publishes", publishing("memfd"));
  const TemporaryDirectory directory;
  const std::string saved = directory.file("heap.jsonl.gz");
  REQUIRE(report(target, {"-o", saved}).status == 0);
  CHECK(has(run_in_shell("zcat \"$1\" | head -n 1", {saved}).output, kResource));
  CHECK(has(run_tool({"merge", "--json", saved, saved}).output, kResource));
  CHECK(has(run_tool({"diff", "--json", saved, saved}).output, kResource));
  const ToolRun metrics = run_tool({"count", "-q", "-f", "openmetrics", saved});
  const std::string pid = std::to_string(target.pid());
  CHECK(has(metrics.output,
            fmt::format("\nheapattach_resource_info{{pid=\"{}\",service_name=\"shop\","
                        "service_version=\"1.2\",team=\"blue\"}} 1\n",
                        pid)));
  CHECK(metric_value(metrics.output, fmt::format("heapattach_objects{{pid=\"{}\","
                                                 "service_name=\"shop\"}}",
                                                 pid)) >= 1000);
  const std::string page = directory.file("heap.html");
  REQUIRE(run_tool({"-q", "-o", page, saved}).status == 0);
  CHECK(has(read_text(page), R"("resource":[["service.name","shop"],)"));
  if (run_in_shell("/usr/bin/python3 -c 'import google.protobuf'", {}).status == 0) {
    const std::string perfetto = directory.file("heap.pftrace");
    REQUIRE(run_tool({"-q", "-o", perfetto, saved}).status == 0);
    const ToolRun decoded = run_in_shell("/usr/bin/python3 \"$2\" \"$1\" | grep ^label",
                                         {perfetto, CONSUMERS "/perfetto.py"});
    CHECK(decoded.output == fmt::format("label\t{0}\tservice.name=shop\nlabel\t{0}\tservice."
                                        "version=1.2\nlabel\t{0}\tteam=blue\n",
                                        pid));
  }
  if (run_in_shell("command -v go >/dev/null", {}).status == 0) {
    const std::string profile = directory.file("heap.pb.gz");
    REQUIRE(run_tool({"-q", "-o", profile, saved}).status == 0);
    const ToolRun tags = run_in_shell("go tool pprof -tags \"$1\"", {profile});
    CAPTURE(tags.output);
    CHECK(has(tags.output, "service.name: Total"));
    CHECK(has(tags.output, "(  100%): shop\n"));
    const ToolRun other =
        run_in_shell("go tool pprof -top -tagfocus service.name=other \"$1\"", {profile});
    CHECK(has(other.output, "Showing nodes accounting for 0"));
  }
}

TEST_CASE("a recording has the process context, too") {
  LiveTarget target("publishes", publishing("memfd"));
  const TemporaryDirectory directory;
  const std::string saved = directory.file("trace.jsonl");
  const ToolRun run = report(target, {"trace", "--every", "1", "--for", "300ms", "-o", saved});
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  CHECK(has(read_text(saved), kResource));
  const ToolRun page = run_tool({"trace", "-q", "-f", "html", saved});
  CHECK(has(page.output, R"("resource":[["service.name","shop"],)"));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a redacted snapshot does not say which service it is of") {
  LiveTarget target("publishes", publishing("memfd"));
  const TemporaryDirectory directory;
  const std::string saved = directory.file("heap.jsonl");
  REQUIRE(report(target, {"--redact", "full", "-o", saved}).status == 0);
  const std::string head = run_in_shell("head -n 1 \"$1\"", {saved}).output;
  CAPTURE(head);
  CHECK(has(head, R"("resource":{"service.name":"value-)"));
  CHECK(has(head, R"("attribute-)"));
  CHECK_FALSE(has(head, "shop"));
  CHECK_FALSE(has(head, "blue"));
  CHECK_FALSE(has(head, "team"));
}

TEST_CASE("a process context is always read whole, and a change that never ends is said") {
  LiveTarget target("publishes", publishing("memfd"));
  target.ask("publish service.name=other");
  CHECK(has(report(target, {"count", "--json"}).output, R"("resource":{"service.name":"other"})"));
  target.ask("begin");
  const ToolRun check = report(target, {"check"});
  CHECK(has(check.output,
            "\nservice     unknown: the process context of OpenTelemetry: "
            "the process is changing it\n"));
  const ToolRun counts = report(target, {"count", "--json"});
  CHECK(counts.status == 0);
  CHECK_FALSE(has(counts.output, "resource"));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("serve: the metrics of a service have its name") {
  LiveTarget target("publishes", publishing("memfd"));
  const std::string pid = std::to_string(target.pid());
  Server server({pid});
  const std::string metrics = server.get("/metrics").body;
  const std::string labels = fmt::format("{{pid=\"{}\",service_name=\"shop\"}}", pid);
  CHECK(metric_value(metrics, "heapattach_objects" + labels) >= 1000);
  CHECK(has(metrics, "service_version=\"1.2\",team=\"blue\"} 1\n"));
  if (run_in_shell("command -v promtool >/dev/null", {}).status != 0) return;
  const TemporaryDirectory directory;
  const std::string file = directory.file("metrics");
  write_text(file, metrics);
  const ToolRun checked = run_in_shell("promtool check metrics <\"$1\"", {file});
  CHECK(checked.status == 0);
  CHECK(checked.errors == "");
}

}  // namespace heapattach
