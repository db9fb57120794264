// `heapattach watch --when` saves files at the right moment, before the kernel kills the process.

#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/control_group.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using std::chrono::seconds;

std::vector<std::string> command_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"/bin/sh", "-c", "exec \"$0\" watch \"$@\" 2>&1", tool_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// The file in a directory whose name has this ending; empty if there is none.
std::string file_ending_in(const TemporaryDirectory& directory, const std::string& ending) {
  for (const std::string& name : directory.list()) {
    if (name.ends_with(ending)) return directory.file(name);
  }
  return {};
}

bool appears(const TemporaryDirectory& directory, const std::string& ending) {
  return eventually(seconds(90), [&] { return !file_ending_in(directory, ending).empty(); });
}

// Reads what the watch says until a line contains `words`; empty if none does.
std::string line_with(ChildProcess& watch, const std::string& words) {
  while (const auto line = watch.read_line(seconds(90))) {
    if (line->find(words) != std::string::npos) return *line;
  }
  return {};
}

// Lets the target grow to 60 MiB.
void stop_when_large(LiveTarget& target) {
  target.child().send_line("grow");
  const bool is_large = eventually(seconds(60), [&] {
    const std::string resident = status_line(target.pid(), "VmRSS");
    return !resident.empty() && std::stol(resident) > 60 << 10;
  });
  target.child().signal(SIGSTOP);
  REQUIRE(is_large);
}

}  // namespace

TEST_CASE("when: the snapshot is there before the kernel kills the process") {
  constexpr std::uint64_t kLimit = std::uint64_t{128} << 20;
  const int all = rounds(2, 20);
  int in_time = 0;
  for (int round = 0; round < all; ++round) {
    const LimitedGroup group(kLimit);
    if (!group.exists()) return;
    LiveTarget target("grows", {"20"});
    REQUIRE(group.take(target.pid()));
    const TemporaryDirectory directory;
    ChildProcess watch(command_of(
        {"50ms", "--when", "memory > 50%", "-o", directory.path(), std::to_string(target.pid())}));
    CHECK(line_with(watch, "watching process") != "");
    target.child().send_line("grow");
    const auto end = target.child().wait_end(seconds(240));
    const std::string snapshot = file_ending_in(directory, ".jsonl.gz");
    REQUIRE(end);
    CHECK(WIFSIGNALED(*end));
    CHECK(WTERMSIG(*end) == SIGKILL);
    CHECK_MESSAGE(snapshot != "", watch.read_rest(seconds(30)));
    if (snapshot.empty()) continue;
    const ToolRun counts = run_tool({"-q", "count", "-f", "json", snapshot});
    CHECK(counts.status == 0);
    CHECK(counts.output.find("session\"") != std::string::npos);
    in_time += counts.status == 0 ? 1 : 0;
    CHECK(watch.wait_end(seconds(60)) == 0);
  }
  print_figure(fmt::format("when: {} of {} snapshots were whole before the kill", in_time, all));
}

TEST_CASE("when: where memory is short for both, nothing is copied, and the process lives on") {
  const LimitedGroup group(std::uint64_t{100} << 20);
  if (!group.exists()) return;
  LiveTarget target("grows", {"1"});
  REQUIRE(group.take(target.pid()));
  stop_when_large(target);
  const TemporaryDirectory directory;
  ChildProcess watch(
      {"/bin/sh", "-c",
       "echo $$ >\"$1\"/cgroup.procs && exec \"$0\" watch --when 'rss > 1M' -o \"$2\" "
       "\"$3\" 2>&1",
       tool_path(), group.group().path().string(), directory.path(), std::to_string(target.pid())});
  CHECK(line_with(watch, "only ").find("left where heapattach runs") != std::string::npos);
  watch.signal(SIGTERM);
  CHECK(watch.wait_end(seconds(60)) == 0);
  CHECK(file_ending_in(directory, ".jsonl.gz") == "");
  CHECK(target.child().is_running());
  target.child().signal(SIGKILL);
  CHECK(target.child().wait_end(seconds(60)));
}

TEST_CASE("when: the watch survives a restart, keeps the last capture, and runs the hook") {
  const TemporaryDirectory directory;
  const TemporaryDirectory told;
  ChildProcess watch(command_of({"--when", "threads > 0", "--cooldown", "1h", "--keep", "1",
                                 "--hook", "printf '%s %s' \"$1\" \"$3\" >" + told.path() + "/$3",
                                 "-o", directory.path(), "--name", "target_restarts"}));
  for (int start = 0; start < 2; ++start) {
    LiveTarget target("restarts");  // no other test has one of this name
    const std::string pid = std::to_string(target.pid());
    const std::string saved = line_with(watch, "saved ");
    CHECK(saved.find("target_restarts." + pid + ".") != std::string::npos);
    CHECK(eventually(seconds(60), [&] {
      return ::access(told.file(pid).c_str(), F_OK) == 0 &&
             read_text(told.file(pid)).ends_with(".jsonl.gz " + pid);
    }));
    CHECK(harm_done_to(target.pid()) == "");
    const std::vector<std::string> kept = directory.list();
    CHECK(kept.size() == 2);  // only the snapshot and the diagnosis of the last capture
    for (const std::string& name : kept) CHECK(name.starts_with("target_restarts." + pid + "."));
  }
  watch.signal(SIGTERM);
  CHECK(watch.wait_end(seconds(60)) == 0);
}

TEST_CASE("when: a process that is stuck is found, and counts are judged") {
  LiveTarget stuck("deadlock");
  const TemporaryDirectory directory;
  ChildProcess watch(command_of({"--when", "stuck", "--max-pause", "30000", "-o", directory.path(),
                                 std::to_string(stuck.pid())}));
  REQUIRE(appears(directory, ".diagnosis.txt"));
  CHECK(read_text(file_ending_in(directory, ".diagnosis.txt")).starts_with("deadlock"));
  watch.signal(SIGTERM);
  CHECK(watch.wait_end(seconds(60)) == 0);
  if (!is_target_built("still")) return;
  LiveTarget still("still", {"5000"});
  const TemporaryDirectory counted;
  ChildProcess second(
      command_of({"--when", "count(*) > 4999", "-o", counted.path(), std::to_string(still.pid())}));
  CHECK(appears(counted, ".jsonl.gz"));
  CHECK(harm_done_to(still.pid()) == "");
}

TEST_CASE("when: no file becomes larger than its share of all that is kept") {
  LiveTarget target("grows", {"0"});
  stop_when_large(target);
  const TemporaryDirectory directory;
  ChildProcess watch(command_of({"--when", "rss > 1M", "--keep", "1", "--max-bytes", "16k", "-o",
                                 directory.path(), std::to_string(target.pid())}));
  CHECK(line_with(watch, "saved ").ends_with(".diagnosis.txt"));
  CHECK(file_ending_in(directory, ".jsonl.gz") == "");
  watch.signal(SIGTERM);
  CHECK(watch.wait_end(seconds(60)) == 0);
}

TEST_CASE("when: a hook that never ends holds up neither another capture nor the end") {
  const TemporaryDirectory directory;
  const TemporaryDirectory told;
  LiveTarget first("deadlock");
  LiveTarget second("deadlock");
  ChildProcess watch(
      command_of({"--when", "rss > 1", "--cooldown", "1h", "--hook",
                  "trap '' TERM; touch " + told.path() + "/$3; while :; do sleep 0.1; done", "-o",
                  directory.path(), std::to_string(first.pid()), std::to_string(second.pid())}));
  CHECK(line_with(watch, "watching process " + std::to_string(first.pid())) != "");
  for (const LiveTarget* target : {&first, &second}) {
    const std::string file = told.file(std::to_string(target->pid()));
    CHECK(eventually(seconds(90), [&] { return ::access(file.c_str(), F_OK) == 0; }));
  }
  watch.signal(SIGTERM);
  CHECK(watch.wait_end(seconds(120)) == 0);
}

TEST_CASE("when: a process that is not there is named") {
  const TemporaryDirectory directory;
  LiveTarget target("deadlock");
  LiveTarget ended("deadlock");
  ended.child().signal(SIGKILL);
  REQUIRE(ended.child().wait_end(seconds(60)));
  const std::string gone = std::to_string(ended.pid());
  ChildProcess watch(command_of(
      {"--when", "rss > 900G", "-o", directory.path(), gone, std::to_string(target.pid())}));
  CHECK(line_with(watch, "there is no process " + gone) != "");
  watch.signal(SIGTERM);
  CHECK(watch.wait_end(seconds(60)) == 0);
}

TEST_CASE("when: what cannot be saved is said once") {
  const TemporaryDirectory directory;
  LiveTarget target("deadlock");
  REQUIRE(::ptrace(PTRACE_SEIZE, target.pid(), nullptr, nullptr) == 0);
  ChildProcess watch(
      command_of({"--when", "rss > 1", "-o", directory.path(), std::to_string(target.pid())}));
  CHECK(line_with(watch, "traces it already") != "");
  CHECK(line_with(watch, "").find("nothing could be saved") != std::string::npos);
  watch.signal(SIGTERM);
  CHECK(watch.wait_end(seconds(60)) == 0);
  CHECK(file_ending_in(directory, ".jsonl.gz") == "");
  CHECK(file_ending_in(directory, ".txt") == "");
}

TEST_CASE("when: whoever started the watch may have ignored that children end") {
  const TemporaryDirectory directory;
  LiveTarget target("deadlock");
  ChildProcess watch(
      {"/bin/sh", "-c",
       "exec env --ignore-signal=CHLD \"$0\" watch --when 'rss > 1' --hook 'exit 3' -o \"$1\" "
       "\"$2\" 2>&1",
       tool_path(), directory.path(), std::to_string(target.pid())});
  CHECK(line_with(watch, "saved ").ends_with(".jsonl.gz"));
  CHECK(line_with(watch, "the hook ended with status 3") != "");
  watch.signal(SIGTERM);
  CHECK(watch.wait_end(seconds(60)) == 0);
}

}  // namespace heapattach
