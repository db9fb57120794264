// leaks --at-exit: a program is examined when it is about to exit, in whatever way it exits.

#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

struct AtExit {
  ToolRun run;
  std::int64_t leaked = 0;  // by the program
  std::int64_t leaked_bytes = 0;
  std::int64_t found = -1;  // by the tool
  std::int64_t found_bytes = -1;
  std::string end{};
};

AtExit look_at_exit(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"leaks", "--at-exit", "-f", "json", "--", target_path("exits")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  AtExit seen{.run = run_tool(all)};
  long leaked = 0;
  long bytes = 0;
  if (std::sscanf(seen.run.output.c_str(), "leaked=%ld leaked_bytes=%ld", &leaked, &bytes) != 2) {
    return seen;
  }
  seen.leaked = leaked;
  seen.leaked_bytes = bytes;
  simdjson::dom::parser parser;
  simdjson::dom::element report;
  const std::string line = seen.run.output.substr(seen.run.output.find('\n') + 1);
  if (parser.parse(line).get(report) != simdjson::SUCCESS) return seen;
  if (report["objects"].get(seen.found) != simdjson::SUCCESS) return seen;
  if (report["bytes"].get(seen.found_bytes) != simdjson::SUCCESS) return seen;
  std::string_view end;
  if (report["program_end"].get(end) == simdjson::SUCCESS) seen.end = end;
  return seen;
}

void check_leaks_at_exit(const std::vector<std::string>& arguments, const std::string& end) {
  CAPTURE(arguments.front());
  const AtExit seen = look_at_exit(arguments);
  INFO(seen.run.errors, seen.run.output);
  CHECK(seen.run.status == 0);
  CHECK(seen.leaked == 40);
  CHECK(seen.found == seen.leaked);
  CHECK(seen.found_bytes == seen.leaked_bytes);
  CHECK(seen.end == end);
}

}  // namespace

TEST_CASE("a program is looked at when it is about to exit, however it does that") {
  check_leaks_at_exit({"return"}, "exited with status 3");
  check_leaks_at_exit({"exit"}, "exited with status 4");
  check_leaks_at_exit({"last"}, "exited with status 0");
  check_leaks_at_exit({"exec"}, "exited with status 4");
  check_leaks_at_exit({"fork"}, "exited with status 5");
  check_leaks_at_exit({"churn"}, "exited with status 6");
  check_leaks_at_exit({"filtered"}, "exited with status 3");
}

TEST_CASE("a program that a signal ends is looked at before it ends") {
  for (const int signal : {SIGTERM, SIGSEGV, SIGABRT, SIGKILL}) {
    check_leaks_at_exit({"signal", std::to_string(signal)},
                        fmt::format("was killed by SIG{}", sigabbrev_np(signal)));
  }
}

TEST_CASE("--at-exit says how the program ended, and its leaks are a gate") {
  const std::string exits = target_path("exits");
  const ToolRun text = run_tool({"--leaks", "--at-exit", "--", exits, "return"});
  CHECK(text.status == 0);
  CHECK(text.output.find("40 objects leaked, ") != std::string::npos);
  CHECK(text.errors.find("the program exited with status 3; ") != std::string::npos);
  CHECK(run_tool({"leaks", "--at-exit", "--fail-if", "leaked(*) > 0", "--", exits}).status == 10);
  CHECK(run_tool({"leaks", "--at-exit", "--fail-if", "leaked(*) > 40", "--", exits}).status == 0);
}

TEST_CASE("--at-exit refuses what cannot be, and says why") {
  CHECK(run_tool({"leaks", "--at-exit", "4711"}).status == 2);
  CHECK(run_tool({"leaks", "--at-exit", "--confirm", "1s", "--", "true"}).status == 2);
  CHECK(run_tool({"count", "--at-exit", "--", "true"}).status == 2);
  const ToolRun missing = run_tool({"leaks", "--at-exit", "--", "/nonexistent/program"});
  CHECK(missing.status == 3);
  CHECK(missing.errors.find("/nonexistent/program") != std::string::npos);
}

}  // namespace heapattach
