// A saved snapshot gives the same reports as the process from which it was taken.

#include <csignal>
#include <fstream>
#include <regex>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// Stops a target, so that it gives the same answers each time.
void stop(LiveTarget& target) {
  target.child().signal(SIGSTOP);
  REQUIRE(eventually(5s, [&] {
    for (const pid_t tid : threads_of(target.pid())) {
      if (state_of(target.pid(), tid) != 'T') return false;
    }
    return true;
  }));
}

std::string output_of(const std::vector<std::string>& arguments) {
  const ToolRun run = run_tool(arguments);
  REQUIRE_MESSAGE(run.status == 0, run.errors);
  return run.output;
}

// Removes the parts that differ between two runs: the header, on the first line, and the rest of
// sleeps.
std::string without_times(const std::string& text) {
  static const std::regex kLeft(",\"left_s\":[0-9.]+");
  return std::regex_replace(text.substr(text.find('\n') + 1), kLeft, "");
}

void check_all_forms(const std::string& name) {
  CAPTURE(name);
  LiveTarget target(name);
  stop(target);
  const std::string pid = std::to_string(target.pid());
  const TemporaryDirectory directory;
  const std::string plain = directory.file("heap.jsonl");
  const std::string packed = directory.file("heap.jsonl.gz");
  output_of({"-o", plain, pid});
  output_of({"-o", packed, plain});

  const std::string text = read_text(plain);
  CHECK(without_times(output_of({pid})) == without_times(text));
  CHECK(output_of({plain}) == text);
  CHECK(output_of({packed}) == text);
  const ToolRun piped = run_in_shell("cat \"$1\" | \"$0\" /dev/stdin", {plain});
  CHECK(piped.output == text);
  const ToolRun substituted = run_in_shell("\"$0\" <(cat \"$1\")", {packed});
  CHECK(substituted.output == text);

  for (const std::string report : {"--count", "--sizes"}) {
    CAPTURE(report);
    const std::string live = output_of({report, pid});
    CHECK(live.find(" total in use by the collector") != std::string::npos);
    CHECK(output_of({report, plain}) == live);
    CHECK(output_of({report, packed}) == live);
    CHECK(output_of({report, "-f", "json", "--by", "holder", plain}) ==
          output_of({report, "-f", "json", "--by", "holder", pid}));
  }
  target.child().signal(SIGCONT);
  CHECK(eventually(5s, [&] { return harm_done_to(target.pid()).empty(); }));
}

}  // namespace

TEST_CASE("a saved snapshot of a C++ program gives the same reports as the process") {
  if (!is_target_built("typed_cxx_gcc5")) return;
  check_all_forms("typed_cxx_gcc5");
}

TEST_CASE("a saved snapshot of a Crystal program gives the same reports as the process") {
  if (!is_target_built("typed_service_default")) return;
  check_all_forms("typed_service_default");
}

TEST_CASE("a file is read without rights, and a signal ends that at any moment") {
  const TemporaryDirectory directory;
  const std::string pipe = directory.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto child_of = [](pid_t pid) {
    pid_t child = 0;
    std::ifstream(fmt::format("/proc/{0}/task/{0}/children", pid)) >> child;
    return child;
  };
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    // The tool waits for a writer of the pipe. The signal may come before it has opened the pipe.
    ChildProcess tool({tool_path(), "--count", "--timeout", "60", pipe});
    const auto is_confined = [&] {
      const pid_t reader = child_of(tool.pid());
      if (reader == 0 || child_of(reader) == 0) return false;
      const std::string status = read_text(fmt::format("/proc/{}/status", reader));
      const auto says = [&](const char* line) { return status.find(line) != std::string::npos; };
      const bool is_nobody = ::geteuid() != 0 || (says("\nUid:\t65534\t65534\t65534\t65534\n") &&
                                                  says("\nCapBnd:\t0000000000000000\n"));
      return is_nobody && says("\nNoNewPrivs:\t1\n") && says("\nSeccomp:\t2\n") &&
             says("\nCapPrm:\t0000000000000000\n");
    };
    REQUIRE(eventually(20s, is_confined));
    tool.signal(SIGTERM);
    const auto end = tool.wait_end(20s);
    REQUIRE(end.has_value());
    CHECK(WEXITSTATUS(*end) == 143);
  }
}

}  // namespace heapattach
