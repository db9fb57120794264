// Lists of type ids that users give. The list of the same build names the types, any other list is
// refused, and a user without a list is told how to make one. The builds and their lists are those
// of other tests.

#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

// A release build does not contain the names of its types.
constexpr const char* kRelease = "service_release";

bool is_built() {
  if (is_target_built(kRelease) && is_target_built("hanging_default")) return true;
  print_skip("no Crystal compiler");
  return false;
}

std::string list_of(const char* target) {
  return target_path(target) + ".ids";
}

ToolRun count(const LiveTarget& target, const std::string& list) {
  std::vector<std::string> arguments = {"--count", "-f", "tsv"};
  if (!list.empty()) arguments.insert(arguments.end(), {"--type-info", list});
  arguments.push_back(fmt::format("{}", target.pid()));
  return run_tool(arguments);
}

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a list from another program or build is refused, and the message says why") {
  if (!is_built()) return;
  LiveTarget service(kRelease);
  for (const char* other : {"hanging_default", "service_threads"}) {
    CAPTURE(other);
    const ToolRun run = count(service, list_of(other));
    CAPTURE(run.errors);
    CHECK(run.status == 0);
    CHECK(says(run.errors,
               list_of(other) + " is not used, because it is from another program or build: "));
    CHECK(says(run.errors, "create one from the same source with the same flags"));
    CHECK_FALSE(says(run.output, "Acme::"));
    CHECK(says(run.output, "(type "));
  }
  CHECK(harm_done_to(service.pid()) == "");
}

TEST_CASE("of several lists in one file the program's own is taken, wherever it is") {
  if (!is_built()) return;
  LiveTarget service(kRelease);
  const std::string own = read_text(list_of(kRelease));
  const std::string other = read_text(list_of("hanging_default"));
  const auto classes = [](const ToolRun& run) {
    std::vector<std::string> rows;
    std::istringstream lines(run.output);
    for (std::string line; std::getline(lines, line);) {
      if (says(line, "\tAcme::")) rows.push_back(line);
    }
    return rows;
  };
  const auto expected = classes(count(service, list_of(kRelease)));
  CHECK(expected.size() > 10);
  const TemporaryDirectory directory;
  const std::string both = directory.file("both.txt");
  for (const std::string& text : {other + own, own + other}) {
    write_text(both, text);
    const ToolRun run = count(service, both);
    CAPTURE(run.errors);
    CHECK_FALSE(says(run.errors, "is not used"));
    CHECK(classes(run) == expected);
  }
}

TEST_CASE("the summary line of a program without names explains how to get them") {
  if (!is_built()) return;
  LiveTarget service(kRelease);
  const std::string hint =
      "run CRYSTAL_DUMP_TYPE_ID=1 crystal build SOURCE.cr > types.txt with the same source, "
      "compiler and flags as this build, and pass --type-info types.txt";
  CHECK(says(count(service, {}).errors, hint));
  CHECK_FALSE(says(count(service, list_of(kRelease)).errors, hint));
}

}  // namespace heapattach
