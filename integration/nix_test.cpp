// Nix: values are counted by the expressions that made them.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/collector_dump.h"
#include "integration/language_counts.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using std::chrono::seconds;

// Compares the objects and their references with those that the collector lists in a copy of the
// process. The collector also lists slots that a thread keeps ready, which nothing references.
void compare_with_collector(pid_t pid) {
  const TemporaryDirectory directory;
  const auto dump = [&](std::vector<std::string> words, const std::string& name) {
    words.insert(words.end(), {directory.file(name), fmt::format("{}", pid)});
    const ToolRun run = run_tool(words);
    CAPTURE(run.errors);
    REQUIRE(run.status == 0);
    return read_dump(read_text(directory.file(name)), false);
  };
  const Dump seen = dump({"--snapshot", "freeze", "-f", "gcgrph", "-o"}, "seen");
  const Dump listed = dump({"--inject", "--library", ROUTINE_LIBRARY, "--keep"}, "listed");
  std::size_t different = 0;
  for (const auto& [base, object] : seen) {
    const auto found = listed.find(base);
    const bool is_same = found != listed.end() && found->second.bytes == object.bytes &&
                         found->second.is_atomic == object.is_atomic &&
                         found->second.words == object.words;
    if (!is_same) ++different;
  }
  CHECK(seen.size() > 40000);
  CHECK(different == 0);
  std::size_t referenced = 0;
  for (const auto& [base, object] : listed) {
    if (!seen.contains(base)) continue;
    for (const auto& [offset, to] : object.words) {
      if (!seen.contains(to)) ++referenced;
    }
  }
  CHECK(referenced == 0);
  print_figure(
      fmt::format("Nix: {} objects and their references as the collector lists them", seen.size()));
}

}  // namespace

TEST_CASE("a Nix evaluation's values are counted by the expressions that made them") {
  const std::string nix = "/usr/bin/nix-instantiate";
  if (::access(nix.c_str(), X_OK) != 0) {
    print_skip(nix + " is not installed");
    return;
  }
  const Release release = release_of("nix", {nix, "--version"}, {"2.8.0"});
  const std::string here = __FILE__;
  const std::string source = here.substr(0, here.rfind('/')) + "/targets/sessions.nix";
  ChildProcess child(
      {"/bin/sh", "-c", R"(exec "$0" --store dummy:// --eval "$1" 2>&1)", nix, source});
  const std::string ready = "trace: ready sessions=";
  std::optional<std::string> line = child.read_line(seconds(120));
  while (line && !line->starts_with(ready)) line = child.read_line(seconds(120));
  REQUIRE(line);
  const std::int64_t sessions = std::stoll(line->substr(ready.size()));
  const Count count = count_of(child.pid(), release);
  const auto of = [&](std::string_view what, int at_line) {
    const auto found = count.objects.find(fmt::format("{} at {}:{}", what, source, at_line));
    return found == count.objects.end() ? 0 : found->second;
  };
  if (!release.is_tried && of("set", 5) == 0) {
    return print_untried(release, "its values have no names");
  }
  CHECK(of("set", 5) == sessions);
  CHECK(count.objects.at(fmt::format("(attributes of set at {}:5)", source)) == sessions);
  CHECK(of("thunk", 9) == sessions);
  CHECK(of("lambda greet", 11) == sessions);
  CHECK(of("thunk", 12) == 2 * sessions);
  // The environments with the variables of each call, which the thunk in line 9 and others use.
  CHECK(of("environment used", 9) == sessions);
  CHECK(count.objects.at("list") >= sessions);
  CHECK(count.named > 0.99);
  const std::string pid = fmt::format("{}", child.pid());
  const ToolRun why = run_tool({"why", fmt::format("lambda greet at {}:11", source), pid});
  CAPTURE(why.output);
  CHECK(why.output.find("(attributes of set at " + source + ":5)") != std::string::npos);
  CHECK(why.output.find("greet → 0x") != std::string::npos);
  const ToolRun suspects = run_tool({"suspects", pid});
  CAPTURE(suspects.output);
  CHECK(suspects.output.find(fmt::format("1. {} set at {}:5 ", sessions, source)) !=
        std::string::npos);
  compare_with_collector(child.pid());
}

}  // namespace heapattach
