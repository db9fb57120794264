// Processes that do not allocate with glibc's malloc are refused by the name of what they use.

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

// `name` must be in the message, and so must something to do instead.
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
}

// A library of any release: "libmimalloc.so.2.0" and "libmimalloc.so.3".
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
  check_refused(own, "target_allocates_itself has a malloc of its own");
}

TEST_CASE("a process with musl is refused by that name, linked statically or not") {
  for (const char* name : {"allocates_musl", "allocates_musl_static"}) {
    if (!is_target_built(name)) continue;
    LiveTarget target(name);
    check_refused(target, "musl's malloc");
  }
}

}  // namespace heapattach
