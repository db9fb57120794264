// One snapshot has the same objects and bytes in every available format.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

void run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "-q");
  const ToolRun done = run_tool(arguments);
  REQUIRE_MESSAGE(done.status == 0, done.errors);
}

// The names after "-f" in the help, up to the semicolon.
std::vector<std::string> formats_after(const std::string& help, const std::string& what) {
  const std::size_t from = help.find(what) + what.size();
  std::vector<std::string> names;
  std::string name;
  for (const char letter : help.substr(from, help.find(';', from) - from)) {
    if (letter == '(') break;
    if (letter >= 'a' && letter <= 'z') {
      name += letter;
    } else if (!name.empty()) {
      names.push_back(std::exchange(name, ""));
    }
  }
  if (!name.empty()) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("objects and bytes are the same in every format that one snapshot is converted to") {
  const char* const service = "typed_service_debug";
  if (!is_target_built(service)) {
    print_skip("no Crystal compiler");
    return;
  }
  const TemporaryDirectory directory;
  // Only a dump like this can be converted to all other formats.
  const std::string source = directory.file("heap.gcfull");
  {
    LiveTarget target(service);
    run({"--values", "-o", source, fmt::format("{}", target.pid())});
    CHECK(harm_done_to(target.pid()) == "");
  }
  const std::vector<std::string> types{"--type-info", target_path(service) + ".ids"};
  const std::string help = run_tool({"--help", "all"}).output;
  std::string script;
  const auto convert = [&](const std::string& format, std::vector<std::string> arguments) {
    const std::string file = directory.file("heap." + format);
    arguments.insert(arguments.end(), {"--force", "-f", format, "-o", file, source});
    arguments.insert(arguments.end(), types.begin(), types.end());
    run(arguments);
    script +=
        fmt::format("echo {0} $(python3 '{1}/totals.py' {0} '{2}')\n", format, CONSUMERS, file);
  };
  const auto exports = formats_after(help, "for a snapshot: ");
  CHECK(exports.size() >= 10);
  for (const std::string& format : exports) {
    if (format != "gcfull") convert(format, {});
  }
  for (const std::string& format : formats_after(help, "for counts: ")) {
    convert(format, {"--count"});
  }
  const ToolRun counted =
      run_in_shell("python3 \"$1/totals.py\" gcfull \"$2\"", {CONSUMERS, source});
  const std::string objects = counted.output.substr(0, counted.output.find(' '));
  const std::string bytes = counted.output.substr(objects.size() + 1);
  CHECK(std::stoul(objects) > 500);
  const ToolRun read = run_in_shell(script, {});
  INFO(read.output << read.errors);
  std::size_t compared = 0;
  for (const std::string& format : exports) {
    if (format == "gcfull") continue;
    CAPTURE(format);
    const bool says_bytes = format != "hprof";
    const bool says_objects = format != "folded" && format != "svg";
    const std::string line = fmt::format("{} {} {}\n", format, says_objects ? objects : "-",
                                         says_bytes ? bytes.substr(0, bytes.find('\n')) : "-");
    CHECK(read.output.find(line) != std::string::npos);
    ++compared;
  }
  for (const char* format : {"table", "tsv", "csv", "json", "markdown"}) {
    CAPTURE(format);
    CHECK(read.output.find(fmt::format("{} {} {}", format, objects, bytes)) != std::string::npos);
  }
  CHECK(read.output.find(fmt::format("memprof {} -\n", objects)) != std::string::npos);
  CHECK(compared + 1 == exports.size());
}

}  // namespace heapattach
