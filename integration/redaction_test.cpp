// A redacted snapshot has none of the service's own names, and all of its figures.

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

constexpr const char* kService = "typed_service_debug";

std::string output_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"-q", "--redact", "full"});
  const ToolRun run = run_tool(arguments);
  INFO(run.errors);
  CHECK(run.status == 0);
  return run.output;
}

// The objects and bytes of each rank.
std::vector<std::string> figures_of(const std::string& tsv) {
  std::vector<std::string> figures;
  std::istringstream lines(tsv);
  for (std::string line; std::getline(lines, line);) {
    figures.push_back(line.substr(0, line.find('\t', line.find('\t') + 1)));
  }
  return figures;
}

// Names of the service, of its fields and variables, and of the machine.
std::vector<std::string> own_names() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return {"Acme",     "Store",     "STORE",         "inventory",
          "Nested",   "Circle",    "corner",        "by_number",
          "children", "next_node", "typed_service", fmt::format("\"{}\"", host.data())};
}

}  // namespace

TEST_CASE("a redacted snapshot and its exports have none of the service's names") {
  if (!is_target_built(kService)) {
    print_skip("no Crystal compiler");
    return;
  }
  LiveTarget target(kService);
  const std::string pid = fmt::format("{}", target.pid());
  const TemporaryDirectory directory;
  const std::string plain = directory.file("plain.jsonl");
  REQUIRE(run_tool({"-q", "-o", plain, pid}).status == 0);
  for (const std::string& name : own_names()) {
    CHECK_MESSAGE(read_text(plain).find(name) != std::string::npos, name);
  }
  std::vector<std::vector<std::string>> outputs{{pid}, {plain}, {"--summary", pid}};
  for (const char* report : {"--count", "--sizes", "--suspects"}) {
    outputs.push_back({report, plain});
  }
  for (const char* format : {"heapsnapshot", "folded", "svg", "dhat", "ruby"}) {
    outputs.push_back({"-f", format, plain});
  }
  outputs.push_back({"-f", "hprof", pid});
  outputs.push_back({"--why", "String", plain});
  outputs.push_back({"--graph", "String", plain});
  for (const auto& arguments : outputs) {
    const std::string text = output_of(arguments);
    CHECK(text.size() > 50);
    for (const std::string& name : own_names()) {
      INFO(name << " of " << fmt::format("{}", fmt::join(arguments, " ")));
      CHECK(text.find(name) == std::string::npos);
    }
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("redaction changes no figure, and placeholders are the same for process and file") {
  if (!is_target_built(kService)) {
    print_skip("no Crystal compiler");
    return;
  }
  LiveTarget target(kService);
  const std::string pid = fmt::format("{}", target.pid());
  const TemporaryDirectory directory;
  const std::string plain = directory.file("plain.jsonl");
  const std::string shared = directory.file("shared.jsonl");
  REQUIRE(run_tool({"-q", "-o", plain, pid}).status == 0);
  CHECK(output_of({"-o", shared, plain}).empty());
  const ToolRun truth = run_tool({"-q", "--count", "-f", "tsv", plain});
  const ToolRun found = run_tool({"-q", "--count", "-f", "tsv", shared});
  CHECK(figures_of(found.output) == figures_of(truth.output));
  CHECK(found.output != truth.output);
  CHECK(output_of({"--count", "-f", "tsv", pid}) == found.output);
  CHECK(output_of({"--count", "-f", "tsv", shared}) == found.output);
  const ToolRun compared = run_tool({"-q", "--diff", "-f", "json", shared, shared});
  CHECK(compared.status == 0);
  CHECK(compared.output.find("\"same_process\":true") != std::string::npos);
}

}  // namespace heapattach
