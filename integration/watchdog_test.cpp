// integration/ci/heapattach-watchdog on commands that hang and on commands that do not.

#include <chrono>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

ToolRun watch(const std::vector<std::string>& arguments) {
  return run_in_shell(
      "HEAPATTACH=\"$0\" HEAPATTACH_APART=1 HEAPATTACH_GRACE=5 exec \"$BASH\" \"$@\"", arguments);
}

// The pids in the files named `name`.PID.`rest`.
std::vector<pid_t> pids_in(const std::vector<std::string>& files,
                           const std::string& name,
                           const std::string& rest) {
  std::vector<pid_t> pids;
  for (const std::string& file : files) {
    const bool fits = file.starts_with(name + ".") && file.ends_with("." + rest);
    if (fits) pids.push_back(std::stoi(file.substr(name.size() + 1)));
  }
  return pids;
}

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> files;
  std::istringstream listed(run_in_shell("ls -1 \"$1\"", {directory}).output);
  for (std::string line; std::getline(listed, line);) files.push_back(line);
  return files;
}

}  // namespace

TEST_CASE("a command that hangs is examined twice, with all of its tree, and ended") {
  TemporaryDirectory directory;
  const std::string artifacts = directory.file("kept");
  // The script prints lines until its child waits.
  const std::string script =
      "\"$0\" >\"$1\" & until grep -q ready \"$1\"; do echo soon; sleep 0.1; done; echo hanging; "
      "wait";
  const auto run = watch({WATCHDOG, "2", "-d", artifacts, "--", "bash", "-c", script,
                          target_path("deadlock"), directory.file("greeting")});
  CAPTURE(run.output);
  CAPTURE(run.errors);
  const std::string messages = read_text(artifacts + "/messages.txt");
  CAPTURE(messages);
  CHECK(run.status == 124);
  CHECK(run.output.ends_with("hanging\n"));
  CHECK(run.errors.find("deadlock: thread ") != std::string::npos);
  const std::vector<std::string> kept = files_in(artifacts);
  for (const char* look : {"1", "2"}) {
    CAPTURE(look);
    const auto stacks_name = fmt::format("{}.stacks.txt", look);
    CHECK(pids_in(kept, "bash", stacks_name).size() == 1);
    // Neither process has a collector, so the heaps are malloc's.
    const auto heap_name = fmt::format("{}.jsonl.gz", look);
    CHECK(pids_in(kept, "bash", heap_name).size() == 1);
    CHECK(pids_in(kept, "target_deadlock", heap_name).size() == 1);
    const auto hung = pids_in(kept, "target_deadlock", stacks_name);
    REQUIRE(hung.size() == 1);
    const auto text =
        read_text(fmt::format("{}/target_deadlock.{}.{}", artifacts, hung[0], stacks_name));
    CHECK(text.starts_with("deadlock: thread "));
    CHECK(eventually(30s, [&] { return state_of(hung[0], hung[0]) == '?'; }));
  }
  CHECK(read_text(artifacts + "/output.txt").ends_with("hanging\n"));
}

TEST_CASE("a command that ends is unaffected by the watchdog") {
  TemporaryDirectory directory;
  const std::string artifacts = directory.file("kept");
  const auto run = watch(
      {WATCHDOG, "60", "-d", artifacts, "--", "bash", "-c", "echo out; echo wrong >&2; exit 7"});
  CHECK(run.status == 7);
  CHECK(run.output == "out\n");
  CHECK(run.errors == "wrong\n");
  CHECK(directory.list().empty());
  CHECK(watch({WATCHDOG, "0", "--", "true"}).status == 2);
  CHECK(watch({WATCHDOG, "5"}).status == 2);
}

}  // namespace heapattach
