// HAZARDS E9: which processes an ordinary user may freeze, and the messages about all others.

#include <filesystem>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

constexpr uid_t kUser = 1000;
constexpr uid_t kOtherUser = 1001;

// The output of a freeze that `command` starts.
std::string freeze_by(std::vector<std::string> command, pid_t pid, const ChildOptions& options) {
  command.insert(command.end(), {FREEZE_TOOL, std::to_string(pid)});
  ChildProcess tool(command, options);
  std::string text = tool.read_rest(10s);
  CHECK(tool.wait_end(5s).has_value());
  return text.rfind("began\n", 0) == 0 ? text.substr(6) : "it did not start: " + text;
}

// The freeze's message to user `kUser` about `pid`.
std::string freeze_as_user(pid_t pid) {
  return freeze_by({}, pid, {.uid = kUser});
}

// Whether a user may make a user namespace; some systems forbid it.
bool can_make_user_namespace() {
  const ToolRun run = run_in_shell("unshare --user --map-root-user true", {}, {.uid = kUser});
  if (run.status == 0) return true;
  print_skip("no rights to make a user namespace");
  return false;
}

// Copies a program so that it runs as root for every user.
std::string copy_for_everybody_as_root(const std::string& program, const std::string& to) {
  std::filesystem::copy_file(program, to);
  REQUIRE(::chmod(to.c_str(), 04755) == 0);
  return to;
}

bool can_change_user() {
  if (::geteuid() == 0) return true;
  print_skip("running as another user needs root");
  return false;
}

ChildOptions as(uid_t uid) {
  return {.uid = uid, .capture_stderr = false};
}

}  // namespace

TEST_CASE("users may freeze their own processes") {
  if (!can_change_user()) return;
  LiveTarget target("plain", {}, as(kUser));
  CHECK(freeze_as_user(target.pid()).rfind("frozen threads=1", 0) == 0);
  CHECK(target.ask().at("interrupted") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a process that hides from its own user is refused for that reason") {
  if (!can_change_user()) return;
  LiveTarget target("plain", {"--hide"}, as(kUser));
  const std::string text = freeze_as_user(target.pid());
  CHECK_MESSAGE(text.rfind("Denied", 0) == 0, text);
  CHECK_MESSAGE(text.find(std::to_string(target.pid())) != std::string::npos, text);
  CHECK_MESSAGE(text.find("dumpable") != std::string::npos, text);
  CHECK_MESSAGE(text.find("CAP_SYS_PTRACE") != std::string::npos, text);
  CHECK(target.ask().at("interrupted") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("another user's process is refused for that reason") {
  if (!can_change_user()) return;
  for (const uid_t owner : {uid_t{0}, kOtherUser}) {
    LiveTarget target("plain", {}, as(owner));
    const std::string text = freeze_as_user(target.pid());
    CHECK_MESSAGE(text.rfind("Denied", 0) == 0, text);
    CHECK_MESSAGE(text.find("user") != std::string::npos, text);
    CHECK_MESSAGE(text.find(std::to_string(owner)) != std::string::npos, text);
    CHECK(target.ask().at("interrupted") == 0);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("a program that runs with root's rights is refused, even to the user who started it") {
  if (!can_change_user()) return;
  const TemporaryDirectory directory;
  const std::string program =
      copy_for_everybody_as_root(target_path("plain"), directory.file("plain"));
  ChildProcess target({program}, as(kUser));
  CHECK(target.read_line(10s) == "ready");
  const std::string text = freeze_as_user(target.pid());
  CHECK_MESSAGE(text.rfind("Denied", 0) == 0, text);
  CHECK_MESSAGE(text.find("setuid") != std::string::npos, text);
  target.send_line("report");
  CHECK(target.read_line(10s) == "asked=1 interrupted=0");
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a process in another user namespace is frozen from outside, and refused from inside") {
  if (!can_change_user() || !can_make_user_namespace()) return;
  SUBCASE("from outside, by root and by its creator") {
    ChildProcess target({"/usr/bin/unshare", "--user", "--map-root-user", target_path("plain")},
                        as(kUser));
    CHECK(target.read_line(10s) == "ready");
    CHECK(freeze_as_user(target.pid()).rfind("frozen threads=1", 0) == 0);
    CHECK(freeze_by({}, target.pid(), {}).rfind("frozen threads=1", 0) == 0);
    target.send_line("report");
    CHECK(target.read_line(10s) == "asked=1 interrupted=0");
    CHECK(harm_done_to(target.pid()) == "");
  }
  SUBCASE("from inside") {
    LiveTarget target("plain", {}, as(kUser));
    const std::string text =
        freeze_by({"/usr/bin/unshare", "--user", "--map-root-user"}, target.pid(), {.uid = kUser});
    CHECK_MESSAGE(text.rfind("Denied", 0) == 0, text);
    CHECK_MESSAGE(text.find("user namespace") != std::string::npos, text);
    CHECK(target.ask().at("interrupted") == 0);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("a target that may make hardly any system calls makes none because of us") {
  for (const char* how : {"--strict", "--filter", "--no-new-privileges"}) {
    CAPTURE(how);
    LiveTarget target("plain", {how});
    for (int i = 0; i < 50; ++i) {
      const std::string text = freeze_by({}, target.pid(), {});
      REQUIRE_MESSAGE(text.rfind("frozen threads=1", 0) == 0, text);
    }
    CHECK(target.ask().at("interrupted") == 0);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("under a filter we report what it forbids, or do without it") {
  LiveTarget target("plain");
  const auto under = [&](std::initializer_list<long> calls) {
    std::vector<std::string> command = {target_path("filtered")};
    for (const long call : calls) command.push_back(std::to_string(call));
    command.emplace_back("--");
    return freeze_by(command, target.pid(), {});
  };
  SUBCASE("ptrace") {
    const std::string text = under({SYS_ptrace});
    CHECK_MESSAGE(text.rfind("Denied", 0) == 0, text);
    CHECK_MESSAGE(text.find("seccomp") != std::string::npos, text);
  }
  SUBCASE("pidfds and scheduling, which are not needed") {
    const std::string text =
        under({SYS_pidfd_open, SYS_sched_setscheduler, SYS_sched_setattr, SYS_setpriority});
    CHECK_MESSAGE(text.rfind("frozen threads=1", 0) == 0, text);
  }
  SUBCASE("reading another process at once") {
    LiveTarget heap("still");
    const ToolRun run = run_in_shell(fmt::format("exec {} {} -- \"$0\" --count -q \"$@\"",
                                                 target_path("filtered"), SYS_process_vm_readv),
                                     {std::to_string(heap.pid())});
    CHECK(run.status == 0);
    CHECK(run.errors == "");
    CHECK(harm_done_to(heap.pid()) == "");
  }
  CHECK(target.ask().at("interrupted") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
