// A snapshot from a clone equals one from the frozen target.

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <simdjson.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/control_group.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

struct Lines {
  std::string header;
  std::string objects;
  std::size_t count = 0;
};

// The records of a snapshot that are always the same for a stopped target.
Lines lines_of(const std::string& output) {
  Lines lines;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) {
    if (line.rfind(R"({"record":"snapshot")", 0) == 0) lines.header = line;
    if (line.rfind(R"({"record":"object")", 0) != 0) continue;
    lines.objects += line + "\n";
    ++lines.count;
  }
  return lines;
}

std::string text_at(const std::string& record, const char* key) {
  simdjson::dom::parser parser;
  std::string_view text;
  if (parser.parse(record)[key].get(text) != simdjson::SUCCESS) return "";
  return std::string(text);
}

}  // namespace

TEST_CASE("a clone gives the same objects and edges as a freeze, and leaves nothing") {
  if (::access(target_path("still").c_str(), X_OK) != 0) {
    print_skip("the collector's library is not installed");
    return;
  }
  LiveTarget target("still", {"5000"});
  const Traces before = traces_of(target.pid());
  const ToolRun frozen = run_tool({"--snapshot", "freeze", std::to_string(target.pid())});
  const ToolRun cloned = run_tool({"--snapshot", "clone", std::to_string(target.pid())});
  REQUIRE_MESSAGE(frozen.status == 0, frozen.errors);
  REQUIRE_MESSAGE(cloned.status == 0, cloned.errors);
  const Lines one = lines_of(frozen.output);
  const Lines other = lines_of(cloned.output);
  CHECK(text_at(one.header, "source") == "freeze");
  CHECK(text_at(other.header, "source") == "clone");
  CHECK(one.count >= 5000);
  CHECK(one.count == other.count);
  CHECK(one.objects == other.objects);
  CHECK(difference(before, traces_of(target.pid())) == "");
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(target.ask("sum").at("sum") == 12497500);
}

TEST_CASE("a count of a clone equals that of a freeze, also without memory for a copy of it") {
  if (::access(target_path("still").c_str(), X_OK) != 0) {
    print_skip("the collector's library is not installed");
    return;
  }
  // More objects than a window holds at once in the group's memory.
  LiveTarget target("still", {"2000000"});
  const std::string pid = std::to_string(target.pid());
  const Traces before = traces_of(target.pid());
  const ToolRun frozen = run_tool({"--count", "--all", "-f", "json", "--snapshot", "freeze", pid});
  const std::vector<std::string> by_clone{"--count",    "--all", "-f", "json",
                                          "--snapshot", "clone", pid};
  const ToolRun cloned = run_tool(by_clone);
  CHECK_MESSAGE(frozen.status == 0, frozen.errors);
  CHECK_MESSAGE(cloned.status == 0, cloned.errors);
  CHECK(frozen.output.find("\"objects\":2000000") != std::string::npos);
  CHECK(frozen.output == cloned.output);
  // A copy takes 64 MB, and is only made if twice as much is available.
  const LimitedGroup group(std::uint64_t{96} << 20);
  if (group.exists()) {
    std::vector<std::string> words{tool_path()};
    words.insert(words.end(), by_clone.begin(), by_clone.end());
    ChildProcess tool(group.command(words));
    CHECK(tool.read_rest(120s) == frozen.output);
    CHECK(tool.wait_end(30s) == 0);
  }
  CHECK(difference(before, traces_of(target.pid())) == "");
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a clone that dies while it is read gives no count, unless it was read before") {
  if (::access(target_path("still").c_str(), X_OK) != 0) {
    print_skip("the collector's library is not installed");
    return;
  }
  LiveTarget target("still", {"2000000"});
  const std::string pid = std::to_string(target.pid());
  int died = 0;
  for (int i = 0; i < rounds(5, 100); ++i) {
    std::atomic<bool> is_over = false;
    std::jthread killer([&] {
      // The first clone is killed before it can have been read.
      const auto delay = static_cast<useconds_t>(i == 0 ? 0 : std::rand() % 150'000);
      while (!is_over && children_of(target.pid()).empty()) std::this_thread::yield();
      ::usleep(delay);
      for (const pid_t child : children_of(target.pid())) ::kill(child, SIGKILL);
    });
    const ToolRun run = run_tool({"--count", "-f", "json", "--snapshot", "clone", pid});
    is_over = true;
    died += run.status == 0 ? 0 : 1;
    const bool is_whole = run.output.find("\"objects\":2000000") != std::string::npos;
    const bool is_told = run.errors.find("clone") != std::string::npos;
    CHECK_MESSAGE((run.status == 0 ? is_whole : run.output.empty() && is_told), run.status, ": ",
                  run.errors);
  }
  print_figure(fmt::format("a clone died under {} of {} counts", died, rounds(5, 100)));
  CHECK(died > 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("if no clone is possible, clone reports why and auto freezes") {
  if (::access(target_path("still").c_str(), X_OK) != 0) {
    print_skip("the collector's library is not installed");
    return;
  }
  LiveTarget target("filtered",
                    {"kill", std::to_string(SYS_wait4), "--", target_path("still"), "5000"});
  const std::string pid = std::to_string(target.pid());
  const ToolRun refused = run_tool({"--count", "--snapshot", "clone", pid});
  CHECK(refused.status == 4);
  CHECK_MESSAGE(refused.errors.find("seccomp") != std::string::npos, refused.errors);
  CHECK(refused.output.empty());
  const ToolRun run = run_tool({"--snapshot", "auto", "--max-pause", "1000", pid});
  CHECK_MESSAGE(run.status == 0, run.errors);
  CHECK(text_at(lines_of(run.output).header, "source") == "freeze");
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
