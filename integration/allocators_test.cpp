// Processes that allocate with neither glibc's malloc nor musl's are refused, by the name of their
// allocator.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

// The message must contain `name`, and advice what to do instead.
void check_refused(LiveTarget& target, const std::string& name) {
  CAPTURE(name);
  for (const char* report : {"count", "leaks"}) {
    const ToolRun run = run_tool({report, fmt::format("{}", target.pid())});
    INFO(run.errors);
    CHECK(run.status == 5);
    CHECK(run.output.empty());
    CHECK(run.errors.find(name) != std::string::npos);
    CHECK(run.errors.find("try: ") != std::string::npos);
  }
  const ToolRun summary = run_tool({"summary", fmt::format("{}", target.pid())});
  INFO(summary.output, summary.errors);
  CHECK(summary.status == 5);
  CHECK(summary.output.find("total (resident: RSS)") != std::string::npos);
  CHECK(summary.output.find("stacks of threads (1)") != std::string::npos);
  CHECK(summary.output.find("the heap was not read") != std::string::npos);
  CHECK(summary.errors.find(name) != std::string::npos);
  const ToolRun check = run_tool({"check", fmt::format("{}", target.pid())});
  INFO(check.output);
  CHECK(check.status == 5);
  CHECK(check.output.find(name) != std::string::npos);
  CHECK(check.output.find("no snapshot can be taken") != std::string::npos);
}

// The path of a library, whatever its release: "libmimalloc.so.2.0" or "libmimalloc.so.3".
std::string library_of(const std::string& name) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/x86_64-linux-gnu")) {
    const std::string file = entry.path().filename();
    if (file.starts_with(name + ".so.")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? "" : found.front();
}

void check_preloaded(const std::string& library, const std::string& name) {
  const std::string path = library_of(library);
  if (path.empty()) return print_skip(library + " is not installed");
  LiveTarget target("/usr/bin/env", {"LD_PRELOAD=" + path, target_path("allocates")});
  check_refused(target, name);
}

}  // namespace

TEST_CASE("a process whose malloc was replaced by LD_PRELOAD is refused by that malloc's name") {
  check_preloaded("libjemalloc", "jemalloc");
  check_preloaded("libtcmalloc_minimal", "tcmalloc");
  check_preloaded("libmimalloc", "mimalloc");
}

TEST_CASE("a sanitized process is refused, and so is one with a malloc of its own") {
  LiveTarget sanitized("allocates_sanitized");
  check_refused(sanitized, "AddressSanitizer");
  LiveTarget own("allocates_itself");
  check_refused(own, "glibc's malloc; target_allocates_itself has a malloc of its own");
}

TEST_CASE("a static program of musl that never frees has no heap, and is refused by that name") {
  if (!is_target_built("allocates_musl_bump")) return print_skip("no musl-gcc");
  LiveTarget target("allocates_musl_bump");
  check_refused(target, "musl's C library (target_allocates_musl_bump)");
}

TEST_CASE("a Go program has no heap that can be read, and --check says so as the reports do") {
  if (run_in_shell("command -v go >/dev/null", {}).status != 0) {
    return print_skip("golang-go is not installed");
  }
  const TemporaryDirectory directory;
  write_text(directory.file("keeps.go"),
             "package main\n"
             "import \"os\"\n"
             "var kept [][]byte\n"
             "func main() {\n"
             "\tfor i := 0; i < 1000; i++ { kept = append(kept, make([]byte, 1000)) }\n"
             "\tos.Stdout.WriteString(\"ready\\n\")\n"
             "\tos.Stdin.Read(make([]byte, 1))\n"
             "}\n");
  const ToolRun built = run_in_shell(
      "cd \"$1\" && GOCACHE=\"$1/cache\" GOFLAGS= GO111MODULE=off go build -o keeps keeps.go",
      {directory.path()});
  INFO(built.errors);
  REQUIRE(built.status == 0);
  LiveTarget target(directory.file("keeps"));
  const std::string pid = fmt::format("{}", target.pid());
  const ToolRun count = run_tool({"count", pid});
  const ToolRun check = run_tool({"check", pid});
  INFO(count.errors);
  INFO(check.output);
  CHECK(count.status == 5);
  CHECK(check.status == 5);
  CHECK(count.errors.find("does not use glibc's malloc; Go keeps its objects") !=
        std::string::npos);
  CHECK(check.output.find("does not use glibc's malloc; Go keeps its objects") !=
        std::string::npos);
}

}  // namespace heapattach
