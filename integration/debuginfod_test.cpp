// Debug files that are not on this machine come from the servers in DEBUGINFOD_URLS. Whatever a
// server does, the report is finished in time.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/child_process.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kType = "shop::Item";
constexpr uid_t kUser = 1000;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Sets environment variables for the tools that are started while this object exists.
class Variables {
 public:
  Variables(std::initializer_list<std::pair<const char*, std::string>> variables) {
    for (const auto& [name, value] : variables) {
      ::setenv(name, value.c_str(), 1);
      names_.emplace_back(name);
    }
  }
  ~Variables() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<std::string> names_;
};

// A running program whose debug file is in a directory that only a server searches.
class Stripped {
 public:
  Stripped() {
    fs::create_directory(debug_directory());
    const ToolRun made =
        run_in_shell("objcopy --only-keep-debug \"$1\" \"$2\" && objcopy --strip-all \"$1\" \"$3\"",
                     {target_path("containers"), debug_directory() + "/program.debug", program()});
    REQUIRE_MESSAGE(made.status == 0, made.errors);
    target_ = std::make_unique<LiveTarget>(program());
  }
  [[nodiscard]] std::string program() const { return directory_.file("program"); }
  [[nodiscard]] std::string debug_directory() const { return directory_.file("debug"); }
  [[nodiscard]] pid_t pid() const { return target_->pid(); }
  [[nodiscard]] std::string cache() const { return directory_.file("cache"); }

  // Counts the program's objects, with these servers and options.
  [[nodiscard]] ToolRun count(const std::string& urls,
                              const std::vector<std::string>& options = {}) const {
    const Variables variables{{"DEBUGINFOD_URLS", urls}, {"DEBUGINFOD_CACHE_PATH", cache()}};
    std::vector<std::string> arguments{"--count", std::to_string(pid())};
    arguments.insert(arguments.end(), options.begin(), options.end());
    ToolRun run = run_tool(arguments);
    CHECK_MESSAGE(run.status == 0, run.errors);
    CHECK(harm_done_to(pid()) == "");
    return run;
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<LiveTarget> target_;
};

bool has_debuginfod() {
  if (run_in_shell("command -v debuginfod", {}).status == 0) return true;
  print_skip("debuginfod is not installed");
  return false;
}

int free_port() {
  static int next = 20'000 + static_cast<int>(::getpid()) % 20'000;
  return next++;
}

// Debian's own debuginfod server, which serves the files of a directory.
class Server {
 public:
  explicit Server(const Stripped& of) {
    constexpr int kTries = 5;
    const ToolRun id =
        run_in_shell("readelf -n \"$1\" | sed -n 's/.*Build ID: //p'", {of.program()});
    for (int tries = 0; tries < kTries && url_.empty(); ++tries) {
      const int port = free_port();
      server_ = std::make_unique<ChildProcess>(
          std::vector<std::string>{"/usr/bin/env", "debuginfod", "-d", ":memory:", "-p",
                                   std::to_string(port), "-F", of.debug_directory()});
      if (serves(port, id.output)) url_ = fmt::format("http://127.0.0.1:{}", port);
    }
    REQUIRE_FALSE(url_.empty());
  }
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  bool serves(int port, const std::string& id) {
    const char* const ask =
        "exec 3<>/dev/tcp/127.0.0.1/$1 && printf 'GET /buildid/%s/debuginfo HTTP/1.0\\r\\n\\r\\n' "
        "$2 >&3 && head -c 15 <&3 | grep -aq ' 200'";
    return eventually(20s,
                      [&] {
                        std::this_thread::sleep_for(50ms);
                        return !server_->is_running() ||
                               run_in_shell(ask, {std::to_string(port), id}).status == 0;
                      }) &&
           server_->is_running();
  }

  std::unique_ptr<ChildProcess> server_;
  std::string url_;
};

// A misbehaving server, debug_server.py.
class BadServer {
 public:
  explicit BadServer(const std::vector<std::string>& how) {
    std::vector<std::string> command{"/usr/bin/env", "python3", CONSUMERS "/debug_server.py"};
    command.insert(command.end(), how.begin(), how.end());
    server_ = std::make_unique<ChildProcess>(command);
    const auto line = server_->read_line(20s);
    REQUIRE(line);
    REQUIRE(line->starts_with("ready "));
    url_ = "http://127.0.0.1:" + line->substr(6);
  }
  [[nodiscard]] const std::string& url() const { return url_; }
  void stop() { server_.reset(); }
  // The requests until now.
  std::vector<std::string> requests() {
    std::vector<std::string> all;
    while (auto line = server_->read_line(200ms)) all.push_back(*line);
    return all;
  }

 private:
  std::unique_ptr<ChildProcess> server_;
  std::string url_;
};

}  // namespace

TEST_CASE("types and lines come from a debug file that a server has") {
  if (!is_target_built("containers") || !has_debuginfod()) return;
  const Stripped program;
  const Server server(program);
  const ToolRun without = program.count(server.url(), {"--no-debuginfod", "-v"});
  CHECK_FALSE(contains(without.output, kType));
  CHECK_FALSE(fs::exists(program.cache()));
  const ToolRun with = program.count(server.url(), {"-v"});
  CHECK(contains(with.output, kType));
  CHECK(contains(with.errors, "debuginfod had 1 of "));
  CHECK_FALSE(contains(with.errors, "no debug file"));
  const Variables variables{{"DEBUGINFOD_URLS", server.url()},
                            {"DEBUGINFOD_CACHE_PATH", program.cache()}};
  const std::string pid = std::to_string(program.pid());
  SUBCASE("also in stacks") {
    const ToolRun stacks = run_tool({"--stacks", pid});
    CHECK_MESSAGE(stacks.status == 0, stacks.errors);
    CHECK(contains(stacks.output, "containers.cpp:"));
    CHECK_FALSE(contains(run_tool({"--stacks", "--no-debuginfod", pid}).output, "containers.cpp:"));
  }
  SUBCASE("also for a core file, whose report may open no files and no sockets") {
    const TemporaryDirectory cores;
    const std::string core = cores.file("core");
    if (run_in_shell("gcore -o \"$1\" \"$2\"", {core, pid}).status != 0) {
      return print_skip("no gcore");
    }
    const std::string file = core + "." + pid;
    const ToolRun of_core = run_tool({"--count", file});
    CHECK_MESSAGE(contains(of_core.output, kType), of_core.errors);
    CHECK_FALSE(contains(run_tool({"--count", "--no-debuginfod", file}).output, kType));
  }
}

TEST_CASE("a file that no server has is not a problem, and is asked for once") {
  if (!is_target_built("containers")) return;
  const Stripped program;
  BadServer server({"missing"});
  const ToolRun run = program.count(server.url(), {"-v"});
  CHECK_FALSE(contains(run.output, kType));
  CHECK(contains(run.errors, "debuginfod had 0 of "));
  CHECK_FALSE(contains(run.errors, "no debug file"));
  CHECK(server.requests().size() >= 1);
  static_cast<void>(program.count(server.url()));
  CHECK(server.requests().empty());  // the cache already knows that the file is missing
}

TEST_CASE("a server that does not answer costs only the time that the user gives it") {
  if (!is_target_built("containers")) return;
  const Stripped program;
  BadServer server({"silent"});
  const auto begin = Clock::now();
  SUBCASE("by DEBUGINFOD_TIMEOUT") {
    const Variables variables{{"DEBUGINFOD_TIMEOUT", "1"}};
    const ToolRun run = program.count(server.url());
    CHECK_MESSAGE(contains(run.errors, "no debug file from debuginfod for program"), run.errors);
    CHECK(contains(run.errors, "the server sent nothing for 1 s"));
    CHECK(Clock::now() - begin < 8s);
  }
  SUBCASE("by --timeout") {
    const ToolRun run = program.count(server.url(), {"--timeout", "6"});
    CHECK_MESSAGE(contains(run.errors, "not everything arrived within 3 s"), run.errors);
    CHECK(Clock::now() - begin < 9s);
  }
  SUBCASE("until it is interrupted") {
    const Variables variables{{"DEBUGINFOD_URLS", server.url()},
                              {"DEBUGINFOD_CACHE_PATH", program.cache()}};
    ChildProcess tool({tool_path(), "--count", std::to_string(program.pid())});
    std::this_thread::sleep_for(1s);
    tool.signal(SIGINT);
    CHECK(tool.wait_end(5s).has_value());
    CHECK(Clock::now() - begin < 6s);
  }
  CHECK(harm_done_to(program.pid()) == "");
}

TEST_CASE("nothing of an interrupted report on a core file stays to wait for a server") {
  if (!is_target_built("containers")) return;
  const Stripped program;
  BadServer server({"silent"});
  const TemporaryDirectory cores;
  const std::string core = cores.file("core");
  const std::string pid = std::to_string(program.pid());
  if (run_in_shell("gcore -o \"$1\" \"$2\"", {core, pid}).status != 0) {
    return print_skip("no gcore");
  }
  {
    const Variables variables{{"DEBUGINFOD_URLS", server.url()},
                              {"DEBUGINFOD_CACHE_PATH", program.cache()}};
    ChildProcess tool({tool_path(), "--count", core + "." + pid});
    REQUIRE(eventually(20s, [&] { return !server.requests().empty(); }));
    tool.signal(SIGINT);
    CHECK(tool.wait_end(5s).has_value());
  }
  // Only the tool's processes were started with this directory in their environment.
  CHECK(eventually(5s, [&] {
    return run_in_shell("grep -lsF \"$1\" /proc/[0-9]*/environ", {program.cache()}).output.empty();
  }));
}

TEST_CASE("a server that cannot be reached is named as the problem at once") {
  if (!is_target_built("containers")) return;
  const Stripped program;
  BadServer server({"missing"});
  server.stop();
  const auto begin = Clock::now();
  const ToolRun run = program.count(server.url());
  CHECK_MESSAGE(contains(run.errors, "Connection refused"), run.errors);
  CHECK(Clock::now() - begin < 8s);
}

TEST_CASE("a debug file of another program is not used") {
  if (!is_target_built("containers")) return;
  const Stripped program;
  std::string sent;
  SUBCASE("a program") {
    sent = target_path("malloced");
  }
  SUBCASE("a text") {
    sent = CONSUMERS "/debug_server.py";
  }
  BadServer server({"wrong", sent});
  const ToolRun run = program.count(server.url());
  CHECK_FALSE(contains(run.output, kType));
  CHECK_MESSAGE(contains(run.errors, "debuginfod sent a wrong debug file for program"), run.errors);
}

TEST_CASE("a file without end is cut off") {
  if (!is_target_built("containers")) return;
  const Stripped program;
  BadServer server({"endless"});
  const Variables variables{{"DEBUGINFOD_MAXSIZE", "1000000"}};
  const ToolRun run = program.count(server.url());
  CHECK_MESSAGE(contains(run.errors, "no debug file from debuginfod for program"), run.errors);
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(program.cache())) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  CHECK(bytes < 10'000'000);
}

TEST_CASE("nothing is written to a directory of another user") {
  if (!is_target_built("containers")) return;
  if (::geteuid() != 0) return print_skip("needs root, to own what others may not write");
  const Stripped program;
  BadServer server({"missing"});
  const TemporaryDirectory roots;
  REQUIRE(::chmod(roots.path().c_str(), 0755) == 0);
  const Variables variables{{"DEBUGINFOD_URLS", server.url()},
                            {"DEBUGINFOD_CACHE_PATH", roots.path()}};
  LiveTarget theirs("containers", {}, {.uid = kUser, .capture_stderr = false});
  const ToolRun run = run_tool({"--count", std::to_string(theirs.pid())}, {.uid = kUser});
  CHECK_MESSAGE(run.status == 0, run.errors);
  CHECK_MESSAGE(contains(run.errors, "debuginfod is not asked"), run.errors);
  CHECK(server.requests().empty());
  CHECK(roots.list().empty());
}

}  // namespace heapattach
