// The provider of memory or files does not answer, so reading them sleeps in the kernel. The tool
// does not read such memory. If a read waits nevertheless, the target is released and the tool
// ends.

#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

// Starts the target. Null, with a message, if it is not available.
std::unique_ptr<LiveTarget> unanswered(const std::string& how) {
  if (!is_target_built("unanswered")) return nullptr;
  auto target = std::make_unique<LiveTarget>("unanswered", std::vector<std::string>{how});
  if (target->greeting().contains("objects")) return target;
  print_skip("userfaultfd is not to be had here");
  return nullptr;
}

// The number of links that a count lists. A link in a slot for several may be listed as an array.
std::int64_t links_in(const std::string& counts) {
  std::int64_t links = 0;
  std::istringstream lines(counts);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\tstruct link") != std::string::npos) links += std::stoll(line);
  }
  return links;
}

// Checks that the target runs, and was interrupted at most `most` times.
void check_unharmed(LiveTarget& target, std::int64_t most) {
  CHECK(eventually(2s, [&] { return harm_done_to(target.pid()).empty(); }));
  CHECK(target.ask().at("interrupted") <= most);
}

// Runs the freeze tool, which reads memory that nobody provides, on a thread beside the tracing
// thread or on the tracing thread, with a limit in milliseconds. Checks that it ends with `words`,
// and has interrupted at most `most` calls.
void check_let_go(const char* where, const char* limit, const char* words, std::int64_t most) {
  const auto target = unanswered("later");
  if (!target) return;
  REQUIRE(target->ask("register").at("registered") == 1);
  const std::string at = std::to_string(target->greeting().at("at"));
  const auto start = Clock::now();
  ChildProcess tool({FREEZE_TOOL, std::to_string(target->pid()), "read", at, where, limit});
  const auto end = tool.wait_end(60s);
  REQUIRE(end.has_value());
  const double took = in_milliseconds(Clock::now() - start);
  CHECK(WEXITSTATUS(*end) == 6);
  CHECK(tool.read_rest(1s).find(words) != std::string::npos);
  check_unharmed(*target, most);
  print_figure(
      fmt::format("unanswered memory, read {} the tracer: ended after {:.0f} ms", where, took));
}

// A program on a file system whose server can be told to stop.
class ServedProgram {
 public:
  explicit ServedProgram(const std::string& name)
      : server_({target_path("served"), at_.path(), target_path(name)}, {.capture_stderr = false}) {
    is_mounted_ = server_.read_line(20s).value_or("") == "ready mounted=1";
    if (!is_mounted_) {
      print_skip("no file system of ours can be mounted here");
      return;
    }
    program_ = std::make_unique<ChildProcess>(std::vector<std::string>{at_.file("program"), "1000"},
                                              ChildOptions{.capture_stderr = false});
    REQUIRE(program_->read_line(20s).value_or("").starts_with("ready"));
  }
  ~ServedProgram() {
    ::umount2(at_.path().c_str(), MNT_DETACH);
    program_.reset();
  }
  ServedProgram(const ServedProgram&) = delete;
  ServedProgram& operator=(const ServedProgram&) = delete;

  [[nodiscard]] bool is_mounted() const { return is_mounted_; }
  [[nodiscard]] std::string pid() const { return std::to_string(program_->pid()); }
  [[nodiscard]] bool is_unharmed() const { return harm_done_to(program_->pid()).empty(); }
  void stop_serving() {
    server_.send_line("stop");
    REQUIRE(server_.read_line(20s).has_value());
  }

 private:
  TemporaryDirectory at_;
  ChildProcess server_;
  std::unique_ptr<ChildProcess> program_;
  bool is_mounted_ = false;
};

}  // namespace

TEST_CASE("memory under a userfaultfd that nothing serves is not read, and the report says so") {
  for (const char* const place : {"heap", "root"}) {
    CAPTURE(place);
    const auto target = unanswered(place);
    if (!target) return;
    for (const std::vector<std::string>& how :
         {std::vector<std::string>{"--max-pause", "500"}, {"--snapshot", "read"}}) {
      std::vector<std::string> arguments = {"--count", "-f", "tsv", "--timeout", "60"};
      arguments.insert(arguments.end(), how.begin(), how.end());
      arguments.push_back(std::to_string(target->pid()));
      const ToolRun run = run_tool(arguments);
      CAPTURE(run.errors);
      CHECK(run.status == 7);
      const std::string unread = std::to_string(target->greeting().at("bytes"));
      CHECK(run.errors.find(unread + " bytes are not in memory") != std::string::npos);
      CHECK(links_in(run.output) == target->greeting().at("objects"));
    }
    check_unharmed(*target, 0);
    // A copy would not have that memory, and making a copy may wait for the process that serves it.
    const ToolRun clone =
        run_tool({"--count", "--snapshot", "clone", std::to_string(target->pid())});
    CHECK(clone.status == 1);
    CHECK(clone.errors.find("userfaultfd") != std::string::npos);
    const ToolRun stacks = run_tool({"--stacks", std::to_string(target->pid())});
    CHECK_MESSAGE(stacks.status == 0, stacks.errors);
    check_unharmed(*target, 0);
  }
}

TEST_CASE("an unreadable page of the heap does not count as zeros: the report is partial") {
  if (!is_target_built("still")) return;
  LiveTarget target("still", {"100", "--hide"});
  const ToolRun run = run_tool({"--count", std::to_string(target.pid())});
  CHECK(run.status == 7);
  CHECK_MESSAGE(run.errors.find("4096 bytes of the heap could not be read") != std::string::npos,
                run.errors);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a target is released although reading it does not finish, and its calls continue") {
  check_let_go("beside", "3600000", "did not finish", 0);
}

TEST_CASE(
    "a tool that hangs while it traces is killed by its guardian, and the target keeps running") {
  // No process was left that could restart the call that the stop had interrupted.
  check_let_go("on", "500", "late", 1);
}

TEST_CASE("one SIGTERM ends a tool that hangs, and SIGKILL releases the target") {
  const auto target = unanswered("later");
  if (!target) return;
  REQUIRE(target->ask("register").at("registered") == 1);
  const std::string at = std::to_string(target->greeting().at("at"));
  for (const int number : {SIGTERM, SIGKILL}) {
    CAPTURE(number);
    ChildProcess tool({FREEZE_TOOL, std::to_string(target->pid()), "read", at, "on", "3600000"});
    REQUIRE(eventually(20s, [&] { return !harm_done_to(target->pid()).empty(); }));
    tool.signal(number);
    CHECK(tool.wait_end(60s).has_value());
    check_unharmed(*target, 2);
  }
}

TEST_CASE("a program whose file system no longer answers blocks nothing") {
  ServedProgram served("still");
  if (!served.is_mounted()) return;
  REQUIRE(run_tool({"--count", served.pid()}).status == 0);
  served.stop_serving();
  const auto start = Clock::now();
  const ToolRun run = run_tool({"--count", "--timeout", "2", served.pid()});
  const double took = in_milliseconds(Clock::now() - start);
  CAPTURE(run.errors);
  CHECK(run.status == 6);
  CHECK(run.errors.find("nothing was written") != std::string::npos);
  CHECK(served.is_unharmed());
  print_figure(fmt::format("dead file system, --timeout 2: ended after {:.0f} ms", took));
  ChildProcess tool({tool_path(), "--count", served.pid()});
  ::usleep(500'000);
  tool.signal(SIGTERM);
  const auto end = tool.wait_end(30s);
  REQUIRE(end.has_value());
  CHECK(WEXITSTATUS(*end) == 143);
  CHECK(served.is_unharmed());
}

TEST_CASE("a target that hardly gets a processor is waited for, read, and continues") {
  if (!is_target_built("still")) return;
  ChildProcess target({"/usr/bin/chrt", "--idle", "0", target_path("still"), "5000"},
                      {.capture_stderr = false});
  REQUIRE(target.read_line(60s).value_or("").starts_with("ready"));
  std::vector<std::unique_ptr<ChildProcess>> busy;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
    busy.push_back(std::make_unique<ChildProcess>(
        std::vector<std::string>{"/bin/bash", "-c", "while :; do :; done"}));
  }
  for (int i = 0; i < rounds(3, 50); ++i) {
    const ToolRun run = run_tool({"--count", std::to_string(target.pid())});
    CHECK_MESSAGE(run.status == 0, run.errors);
    CHECK(run.output.find("5000") != std::string::npos);
  }
  busy.clear();
  CHECK(eventually(10s, [&] { return harm_done_to(target.pid()).empty(); }));
}

}  // namespace heapattach
