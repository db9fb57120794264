// --call: functions run in a clone, however they end, and the target never notices.

#include <algorithm>
#include <csignal>
#include <future>
#include <string>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

ToolRun call(const LiveTarget& target,
             const std::string& what,
             const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"--call", what, std::to_string(target.pid())};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_tool(arguments);
}

void check_unharmed(LiveTarget& target) {
  const Answer before = target.ask();
  CHECK(before.at("calls") == 0);
  CHECK(before.at("shared") == 0);
  CHECK(before.at("signals") == 0);
  CHECK(eventually(30s, [&] { return target.ask().at("beats") > before.at("beats"); }));
  CHECK(children_of(target.pid()).empty());
  CHECK(harm_done_to(target.pid()) == "");
}

struct Ending {
  const char* call;
  int status;
  std::vector<const char*> said;  // texts that standard error must contain
};

void check_ending(LiveTarget& target, const Ending& ending, const std::vector<std::string>& more) {
  const ToolRun run = call(target, ending.call, more);
  CHECK_MESSAGE(run.status == ending.status, ending.call, ": ", run.errors);
  for (const char* words : ending.said) {
    CHECK_MESSAGE(run.errors.find(words) != std::string::npos, ending.call, ": ", run.errors);
  }
  check_unharmed(target);
}

}  // namespace

TEST_CASE("a function called in a clone gets its arguments, and its result is printed") {
  LiveTarget target("called");
  target.ask();  // now the target's buffer is not empty
  const Traces before = traces_of(target.pid());
  CHECK(call(target, "add_all(1, 2, 3, 4, 5, 6, 7, 0x8)").output == "87654321\n");
  CHECK(call(target, "greet(\"hello\", \"\\\"world\\\"\")", {"--returns", "string"}).output ==
        "hello, \"world\"\n");
  CHECK(call(target, "minus_one()", {"--returns", "int"}).output == "-1\n");
  CHECK(call(target, "minus_one()", {"--returns", "pointer"}).output == "0xffffffff\n");
  CHECK(call(target, "with_a_thread(-5)").output == "-4\n");
  // strlen is a function that the C library selects at run time.
  CHECK(call(target, "strlen(\"four\")").output == "4\n");
  const ToolRun spoken = call(target, "announce(\"a word\")");
  CHECK(spoken.output == "a word\n6\n");
  CHECK_MESSAGE(spoken.errors.find("about to speak") != std::string::npos, spoken.errors);
  CHECK(difference(before, traces_of(target.pid())) == "");
  check_unharmed(target);
}

TEST_CASE("the outcome of a call in a clone is reported, and stays in the clone") {
  LiveTarget target("called");
  for (const Ending& ending : std::vector<Ending>{
           {"crash()", 1, {"crash crashed (SIGSEGV at 0x8)", "in crash"}},
           {"leave(3)", 1, {"exit(3)"}},
           {"give_up()", 1, {"aborted (SIGABRT)", "called by give_up"}},
           {"become_another()", 1, {"started another program", "called by become_another"}},
           {"no_such_function()", 1, {"has no function no_such_function"}},
           {"no_function()", 1, {"no_function", "is not a function"}},
       }) {
    check_ending(target, ending, {});
  }
  CHECK(call(target, "signal_parent()").output == "0\n");
  const ToolRun started = call(target, "start_another()", {"--returns", "int"});
  CHECK_MESSAGE(started.output == "32512\n", started.output, started.errors);
  CHECK_MESSAGE(started.errors.find("tried to start a process") != std::string::npos,
                started.errors);
  check_unharmed(target);
}

TEST_CASE("nothing can leave a clone, and attempts are reported") {
  LiveTarget target("called");
  const TemporaryDirectory directory;
  const Answer before = target.ask();
  struct Way {
    std::string call;
    const char* refused;  // the system call
  };
  for (const Way& way : std::vector<Way>{
           {"own_files()", "fcntl"},
           {"raise_semaphore()", "semtimedop"},
           {"remove_shared()", nullptr},
           {"limit_parent()", "prlimit64"},
           {"slow_parent()", "setpriority"},
           {"take_file()", "pidfd_open"},
           {"write_memory()", "openat"},
           {"read_memory()", nullptr},
           {"read_environment()", nullptr},
           {fmt::format("make_file(\"{}\")", directory.file("made")), "openat"},
           {fmt::format("make_file(\"/proc/{}/oom_score_adj\")", target.pid()), "openat"},
       }) {
    const ToolRun run = call(target, way.call);
    CHECK_MESSAGE(run.status == 0, way.call, run.errors);
    CHECK_MESSAGE(run.output == "-1\n", way.call, run.errors);
    if (way.refused == nullptr) continue;
    const std::string said = fmt::format("refused the system call {}", way.refused);
    CHECK_MESSAGE(run.errors.find(said) != std::string::npos, way.call, run.errors);
    const std::string allowing = fmt::format("--allow-calls {}", way.refused);
    CHECK_MESSAGE(run.errors.find(allowing) != std::string::npos, way.call, run.errors);
  }
  CHECK(call(target, "write_both(21)").output == "42\n");
  CHECK(call(target, "write_shared(5)").output == "1\n");
  check_unharmed(target);
  const Answer after = target.ask();
  for (const char* what : {"semaphore", "files", "nice"}) CHECK(after.at(what) == before.at(what));
  CHECK(::access(directory.file("made").c_str(), F_OK) != 0);
}

TEST_CASE("a call in a clone may do what the user allows") {
  LiveTarget target("called");
  const TemporaryDirectory directory;
  CHECK(call(target, "raise_semaphore()", {"--allow-calls", "semtimedop"}).output == "0\n");
  CHECK(target.ask().at("semaphore") == 1);
  const std::string file = directory.file("made");
  const std::string make = fmt::format("make_file(\"{}\")", file);
  CHECK(call(target, make, {"--allow-calls", "semop"}).output == "-1\n");
  const ToolRun made = call(target, make, {"--allow-calls", "semop,openat"});
  CHECK_MESSAGE(made.output != "-1\n", made.errors);
  CHECK(::access(file.c_str(), F_OK) == 0);
  // Files that only a tracer may read stay closed.
  CHECK(call(target, "write_memory()", {"--allow-calls", "openat"}).output == "-1\n");
  check_unharmed(target);
}

TEST_CASE("shared memory is read-only for a call where heapattach may not make it private") {
  LiveTarget target("called");
  const ToolRun run = run_in_shell(
      "setpriv --bounding-set -sys_admin,-checkpoint_restore --inh-caps "
      "-sys_admin,-checkpoint_restore \"$0\" \"$@\"",
      {"--call", "write_shared(5)", std::to_string(target.pid())});
  CHECK_MESSAGE(run.status == 1, run.output);
  CHECK_MESSAGE(run.errors.find("shares with others") != std::string::npos, run.errors);
  check_unharmed(target);
}

TEST_CASE("a call works under a limit of the process that heapattach may not raise") {
  LiveTarget target("called");
  const rlimit none{0, 0};
  REQUIRE(::prlimit(target.pid(), RLIMIT_FSIZE, &none, nullptr) == 0);
  const ToolRun run =
      run_in_shell("setpriv --bounding-set -sys_resource --inh-caps -sys_resource \"$0\" \"$@\"",
                   {"--call", "minus_one()", "--returns", "int", std::to_string(target.pid())});
  CHECK_MESSAGE(run.output == "-1\n", run.errors);
  check_unharmed(target);
}

TEST_CASE("a dump routine that writes without end is stopped") {
  LiveTarget target("called");
  const std::string pid = std::to_string(target.pid());
  const TemporaryDirectory directory;
  const ToolRun run = run_tool({"--inject", "--routine", "flood", pid});
  CHECK(run.status != 0);
  CHECK_MESSAGE(run.errors.find("4 times the memory") != std::string::npos, run.errors);
  const ToolRun kept =
      run_tool({"--inject", "--routine", "flood", "--keep", directory.file("dump"), pid});
  CHECK(kept.status != 0);
  CHECK_MESSAGE(kept.errors.find("16 times the memory") != std::string::npos, kept.errors);
  check_unharmed(target);
}

TEST_CASE("a call in a clone that does not end is given up, and its stack is printed") {
  // A copy of the tool that is still being written while another thread forks cannot be run.
  static_cast<void>(tool_path());
  const std::vector<std::string> quickly{"--timeout", "5"};
  const auto look = [&](const Ending& ending) {
    LiveTarget target("called");
    check_ending(target, ending, quickly);
  };
  const auto loop = std::async(std::launch::async, [&] {
    look({"loop_for_ever()", 6, {"did not return", "in loop_for_ever"}});
  });
  look({"wait_for_lock()", 6, {"it waits for a lock", "called by wait_for_lock"}});
}

TEST_CASE("a call in a clone runs as the named thread") {
  LiveTarget target("called");
  const pid_t main = target.pid();
  for (const pid_t thread : threads_of(main)) {
    const ToolRun run = call(target, "getpid()", {"--thread", std::to_string(thread)});
    CHECK_MESSAGE(run.status == 0, run.errors);
    CHECK(run.output != fmt::format("{}\n", main));
  }
  const ToolRun none = call(target, "getpid()", {"--thread", std::to_string(::getpid())});
  CHECK(none.status != 0);
  check_unharmed(target);
}

TEST_CASE("the tool is killed in the middle of a call, and leaves neither a clone nor harm") {
  LiveTarget target("called");
  for (int i = 0; i < rounds(12, 300); ++i) {
    ChildProcess tool({tool_path(), "--call",
                       i % 2 == 0 ? "loop_for_ever()" : "greet(\"a\", \"b\")",
                       std::to_string(target.pid())});
    ::usleep(static_cast<useconds_t>(10'000 + std::rand() % 150'000));
    tool.signal(i % 3 == 0 ? SIGTERM : SIGKILL);
    REQUIRE(tool.wait_end(60s).has_value());
    CHECK(eventually(30s, [&] { return harm_done_to(target.pid()).empty(); }));
  }
  // The next run reaps the dead clones.
  CHECK(eventually(30s, [&] {
    return call(target, "getpid()").status == 0 && children_of(target.pid()).empty();
  }));
  check_unharmed(target);
}

TEST_CASE("a Ruby process dumps its objects in a clone") {
  if (::access("/usr/bin/ruby", X_OK) != 0) {
    print_skip("ruby is not installed");
    return;
  }
  ChildProcess ruby(
      {"/usr/bin/ruby", "-e",
       "require 'objspace'; class Session; end; $all = Array.new(123) { Session.new };"
       "puts 'ready'; $stdout.flush; $stdin.gets; puts $all.size; $stdout.flush"});
  REQUIRE(ruby.read_line(60s) == "ready");
  const ToolRun run =
      run_tool({"--call",
                "rb_eval_string_protect(\"puts ObjectSpace.count_objects.size > 3; "
                "puts ObjectSpace.each_object(Session).count; $all = []; $stdout.flush\", null)",
                std::to_string(ruby.pid())});
  CHECK_MESSAGE(run.status == 0, run.errors);
  CHECK_MESSAGE(run.output.find("true\n123\n") == 0, run.output, run.errors);
  const ToolRun dump =
      run_tool({"--call",
                "rb_eval_string_protect(\"ObjectSpace.dump_all(output: $stdout); $stdout.flush\", "
                "null)",
                std::to_string(ruby.pid())});
  CHECK_MESSAGE(dump.status == 0, dump.errors);
  CHECK(std::count(dump.output.begin(), dump.output.end(), '\n') > 5000);
  CHECK(dump.output.find("\"type\":\"OBJECT\"") != std::string::npos);
  CHECK(dump.output.find("\"name\":\"Session\"") != std::string::npos);
  ruby.send_line("");
  CHECK(ruby.read_line(60s) == "123");
}

}  // namespace heapattach
