// HAZARDS, "Trust and rights": while a run is going on, the kernel shows that each of its processes
// has the rights that the table states.

#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/bombs.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// The rights of a process, from /proc/<pid>/status: "1000 0000000000080000 0 2".
std::string rights_of(pid_t pid) {
  std::istringstream users(status_line(pid, "Uid"));
  std::string real;
  std::string effective;
  users >> real >> effective;
  return fmt::format("{} {} {} {}", effective, status_line(pid, "CapEff"),
                     status_line(pid, "NoNewPrivs"), status_line(pid, "Seccomp"));
}

// The rights of a process that has given up all rights. If root started it, it also has another
// user.
std::string none() {
  return fmt::format("{} 0000000000000000 1 2", ::geteuid() == 0 ? 65534 : ::geteuid());
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t tid : threads_of(pid)) {
    std::ifstream list(fmt::format("/proc/{}/task/{}/children", pid, tid));
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

// The processor time that a process has used.
double computed_ms(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", pid));
  double nanoseconds = 0;
  file >> nanoseconds;
  return nanoseconds / 1e6;
}

// The rights that were seen, by the place of the process: the tool's first process is "guardian",
// its child is "main", and the children of that are "worker".
using Seen = std::map<std::string, std::set<std::string>>;

// Samples the processes of a run until it ends. A worker gives up its rights before it does
// anything else, so it counts once it has used so much processor time that it must be at work.
Seen watch(const std::vector<std::string>& arguments) {
  constexpr double kAtWork = 30;
  std::vector<std::string> command{tool_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Seen seen;
  ChildProcess tool(command);
  const auto note = [&seen](const char* place, pid_t pid) {
    const double before = computed_ms(pid);
    const std::string rights = rights_of(pid);
    const bool is_whole = rights.size() > 20;  // otherwise the process has just ended
    if (is_whole && (before >= kAtWork || std::string(place) != "worker")) {
      seen[place].insert(rights);
    }
  };
  while (tool.is_running()) {
    note("guardian", tool.pid());
    for (const pid_t main : children_of(tool.pid())) {
      note("main", main);
      for (const pid_t worker : children_of(main)) note("worker", worker);
    }
    ::usleep(1000);
  }
  return seen;
}

}  // namespace

TEST_CASE(
    "processes that read debug information have no rights, and only the main process keeps ours") {
  if (!is_target_built("still")) return;
  const TemporaryDirectory directory;
  const std::string library = directory.file("long.so");
  write_long_type_names(library, 20'000);
  LiveTarget target("still", {"2000", "--map", library});
  const std::string ours = rights_of(::getpid());
  const Seen seen = watch({"--count", "--timeout", "20", std::to_string(target.pid())});
  CHECK(seen.at("guardian") == std::set<std::string>{ours});
  CHECK(seen.at("main") == std::set<std::string>{ours});
  CHECK(seen.at("worker") == std::set<std::string>{none()});
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a process that reads a saved snapshot has no rights") {
  if (!is_target_built("still")) return;
  const TemporaryDirectory directory;
  LiveTarget target("still", {"200000"});
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(run_tool({"-o", file, std::to_string(target.pid())}).status == 0);
  const Seen seen = watch({"--sizes", file});
  CHECK(seen.at("guardian") == std::set<std::string>{rights_of(::getpid())});
  REQUIRE(seen.count("main") == 1);
  CHECK(seen.at("main").count(none()) == 1);
  // Only the worker's broker has rights, and the broker computes nothing.
  CHECK(seen.count("worker") == 0);
}

TEST_CASE("a function runs in a copy that can gain no rights and has nearly none") {
  LiveTarget target("called");
  ChildProcess tool(
      {tool_path(), "--call", "loop_for_ever()", "--timeout", "20", std::to_string(target.pid())});
  std::string rights;
  REQUIRE(eventually(60s, [&] {
    for (const pid_t copy : children_of(target.pid())) {
      if (computed_ms(copy) < 50) continue;
      rights = rights_of(copy);
      return true;
    }
    return !tool.is_running();
  }));
  // If root runs the tool, the worker may still read files, as the target could.
  const std::string uid = std::to_string(::geteuid());
  const bool is_root = ::geteuid() == 0;
  CHECK(rights == fmt::format("{} {} 1 2", uid, is_root ? "0000000000000004" : "0000000000000000"));
  tool.signal(SIGTERM);
  CHECK(tool.wait_end(60s).has_value());
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
