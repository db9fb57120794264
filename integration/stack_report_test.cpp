// --stacks on programs that hang in known ways: its first line names the cause.

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "report/stacks/copy_stacks.h"

namespace heapattach {

namespace {

// Runs --stacks with a limit that allows for threads that wait long for a processor to stop on.
ToolRun stacks_of(pid_t pid, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"--stacks", "--max-pause", "60000", std::to_string(pid)});
  return run_tool(more);
}

bool says(const ToolRun& run, const std::string& text) {
  return run.output.find(text) != std::string::npos;
}

std::string first_line(const ToolRun& run) {
  return run.output.substr(0, run.output.find('\n'));
}

}  // namespace

TEST_CASE("a deadlock of threads is reported in the first line, with its cycle") {
  LiveTarget target("deadlock");
  const auto run = stacks_of(target.pid());
  CAPTURE(run.output);
  CHECK(run.status == 0);
  CHECK(run.errors == "");
  const std::string line = first_line(run);
  CAPTURE(line);
  CHECK(line.starts_with("deadlock: thread "));
  for (const char* name : {"ring-0", "ring-1", "ring-2"}) {
    CHECK(line.find(name) != std::string::npos);
  }
  CHECK(line.find("outside") == std::string::npos);
  const auto ring0 = target.greeting().at("ring0");
  const auto outside = target.greeting().at("outside");
  CHECK(says(run, fmt::format("thread {} outside-0, sleeping in futex(", outside)));
  CHECK(says(run, fmt::format("waits for a mutex of thread {} ring-0", ring0)));
  CHECK(line.find(" in take_next (deadlock.c:") != std::string::npos);
  CHECK(line.find(" waits for locks, which ") != std::string::npos);
  CHECK(line.find(" waits for table, which ") != std::string::npos);
  CHECK(says(run, "waits for a read-write lock of thread "));
  CHECK(says(run, "in read("));
  CHECK(says(run, ": pipe)"));
  CHECK(says(run, "read_pipe"));
  CHECK(says(run, "deadlock.c:"));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("the first line names what a Crystal service hangs on") {
  if (!is_target_built("hanging_default")) {
    print_skip("no Crystal compiler");
    return;
  }
  struct Way {
    const char* name;
    std::vector<const char*> in_first_line;
    std::vector<const char*> elsewhere;
  };
  const std::vector<Way> ways = {
      {"locks",
       {"deadlock: fiber \"", "\"transfer\" in Ledger#transfer", "\"report\" in Ledger#report",
        "waits for Mutex 0x", "a field of a Ledger", "holds"},
       {"hanging.cr:", "waits for a connection to ", "listening", "sleeps, "}},
      // The main fiber sleeps and may still act, so nothing is proved.
      {"exchange",
       {"process "},
       {"fiber \"asker\"", "Exchange#ask", "fiber \"answerer\"", "Exchange#answer",
        "receive from Channel(", "-> in Exchange#start "}},
      {"spin",
       {"busy: fiber \"spinner\"", "spin_in_place", "cannot run there"},
       {"12 fibers \"idle-", "each sleeps, "}},
      {"channels",
       {"deadlock: all 13 fibers wait to receive from Channel(Int32) 0x",
        "and nobody is left to send"},
       {"12 fibers \"worker-", "wait_for_job", "-> in __crystal_main "}},
      {"io",
       {"process "},
       {"waits to read from ", ": pipe", ": unix socket", "waits for one of several channels",
        "sleeps, "}},
  };
  for (const Way& way : ways) {
    CAPTURE(way.name);
    LiveTarget target("hanging_default", {way.name});
    const auto run = stacks_of(target.pid());
    CAPTURE(run.output);
    CHECK(run.status == 0);
    const std::string line = first_line(run);
    for (const char* text : way.in_first_line) {
      CAPTURE(text);
      CHECK(line.find(text) != std::string::npos);
    }
    for (const char* text : way.elsewhere) {
      CAPTURE(text);
      CHECK(says(run, text));
    }
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("fibers that wait for what nothing else can reach are named in a snapshot") {
  if (!is_target_built("waits_default")) {
    print_skip("no Crystal compiler");
    return;
  }
  LiveTarget target("waits_default", {"lost"});
  const TemporaryDirectory files;
  const std::string file = files.file("heap.jsonl");
  const auto taken = run_tool({"-q", "-o", file, std::to_string(target.pid())});
  CAPTURE(taken.errors);
  REQUIRE(taken.status == 0);
  const auto saved = run_tool({"--stacks", file});
  CAPTURE(saved.output);
  CHECK(saved.status == 0);
  const std::string line = first_line(saved);
  CHECK(line.starts_with("deadlock: "));
  CHECK(line.find(" for objects that nothing else can reach, and will never run again: ") !=
        std::string::npos);
  CHECK(line.find("Channel(Int32)") != std::string::npos);
  CHECK(line.find("in lose_client (waits.cr:") != std::string::npos);
  CHECK(line.find("heard") == std::string::npos);
  CHECK(line.find("run_lost") == std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
  // In these programs, which have nothing to do at the moment, something can wake the fibers.
  for (const char* mode : {"pool", "actors", "signals"}) {
    CAPTURE(mode);
    LiveTarget idle("waits_default", {mode});
    REQUIRE(run_tool({"-q", "--force", "-o", file, std::to_string(idle.pid())}).status == 0);
    const auto stacks = run_tool({"--stacks", file});
    CAPTURE(stacks.output);
    CHECK_FALSE(says(stacks, "nothing else can reach"));
  }
}

TEST_CASE("the stacks of a saved snapshot begin with the same line as those of the process") {
  if (!is_target_built("hanging_default")) {
    print_skip("no Crystal compiler");
    return;
  }
  for (const char* way : {"locks", "channels", "exchange"}) {
    CAPTURE(way);
    LiveTarget target("hanging_default", {way});
    const TemporaryDirectory files;
    const std::string file = files.file("heap.jsonl.gz");
    const auto live = stacks_of(target.pid());
    REQUIRE(run_tool({"-q", "-o", file, std::to_string(target.pid())}).status == 0);
    const auto saved = run_tool({"--stacks", file});
    CAPTURE(saved.output);
    CHECK(saved.status == 0);
    CHECK(saved.errors == "");
    const bool is_stuck = std::string_view(way) != "exchange";
    CHECK(first_line(live).starts_with("deadlock") == is_stuck);
    if (is_stuck) {
      CHECK(first_line(saved) == first_line(live));
    } else {
      CHECK_FALSE(says(saved, "remark: "));
    }
    CHECK(says(saved, ", from a snapshot of 20"));
    CHECK(says(saved, "hanging.cr:"));
    CHECK(harm_done_to(target.pid()) == "");
  }
}

// waits.py compares the waits of all fibers with what the program says: in a program that waits in
// every possible way, in programs with nothing to do, and in stuck ones.
TEST_CASE("each fiber's wait is reported right, and no idle program is reported to hang") {
  if (!is_target_built("waits_default")) {
    print_skip("no Crystal compiler");
    return;
  }
  const auto run = run_in_shell("python3 \"$1\" \"$0\" \"$2\"",
                                {CONSUMERS "/waits.py", target_path("waits_default")});
  CAPTURE(run.output);
  CAPTURE(run.errors);
  CHECK(run.status == 0);
  const std::size_t end = run.output.find(" fibers right, 0 faults");
  REQUIRE(end != std::string::npos);
  // The program has a fiber for each kind of wait; later releases of Crystal have more kinds.
  CHECK(std::stoi(run.output.substr(run.output.rfind(' ', end - 1) + 1)) >= 20);
}

// In such a program, one function contains most of what a fiber does, without lines, and perhaps
// without names.
TEST_CASE(
    "the report says nothing false about fibers of an optimized program without debug "
    "information") {
  if (!is_target_built("waits_bare_stripped")) {
    print_skip("no Crystal compiler");
    return;
  }
  const std::string program = target_path("waits_bare");
  for (const std::vector<std::string>& words :
       {std::vector{program}, std::vector{program + "_stripped", program + ".ids"}}) {
    std::vector<std::string> all = {CONSUMERS "/waits.py"};
    all.insert(all.end(), words.begin(), words.end());
    const auto run =
        run_in_shell("script=\"$1\"; shift; python3 \"$script\" --bare \"$0\" \"$@\"", all);
    CAPTURE(run.output);
    CAPTURE(run.errors);
    CHECK(run.status == 0);
  }
}

TEST_CASE("nothing is wrong with an HTTP server that waits for its clients") {
  if (!is_target_built("web_debug")) {
    print_skip("no Crystal compiler");
    return;
  }
  LiveTarget target("web_debug", {"idle"});
  const auto run = stacks_of(target.pid());
  CAPTURE(run.output);
  CHECK(run.status == 0);
  CHECK(first_line(run).starts_with("process "));
  CHECK(says(run, "waits for a connection to "));
  CHECK_FALSE(says(run, "the reason is unknown"));
}

// There are so many fibers that their objects have more than one size.
TEST_CASE("all of several thousand fibers are found") {
  if (!is_target_built("hanging_default")) {
    print_skip("no Crystal compiler");
    return;
  }
  LiveTarget target("hanging_default", {"channels", "3000"});
  const auto run = stacks_of(target.pid());
  CAPTURE(run.output);
  CHECK(run.status == 0);
  CHECK(first_line(run).starts_with("deadlock: all 3001 fibers wait to receive from"));
  CHECK(says(run, "3000 fibers \"worker-"));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("all fibers are found although the memory map has changed since it was read") {
  if (!is_target_built("hanging_default")) {
    print_skip("no Crystal compiler");
    return;
  }
  LiveTarget target("hanging_default", {"channels", "3000"});
  Request request;
  request.pid = target.pid();
  request.deadline.at = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto learned = stacks::StackTarget::learn(request);
  REQUIRE_MESSAGE(learned, why(learned));
  const Process& process = *(*learned)->process;
  std::string text = process.read_file("maps").value();
  SUBCASE("mappings are missing in the old one") {
    text.resize(text.find('\n', text.size() / 2) + 1);
  }
  SUBCASE("it has not changed") {}
  stacks::HeldStacks held(Arena::reserve(std::size_t{256} << 20, 0).value());
  held.map = parse_maps(text).value();
  const ExpectedMap expected(text);
  const auto report = freeze_once(target.pid(), {}, [&](const FrozenView& view) {
    return stacks::copy_stacks(**learned, &expected, view.threads, view.deadline, held);
  });
  REQUIRE_MESSAGE(report, why(report));
  CHECK(held.map.mappings().size() == process.maps()->mappings().size());
  int workers = 0;
  for (const crystal::FiberStack& fiber : held.fibers) {
    if (crystal::fiber_name(fiber, held.capture).starts_with("worker-")) ++workers;
    REQUIRE(held.capture.bytes_from(fiber.stack.start).size() >= fiber.stack.bytes);
  }
  CHECK(workers == 3000);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("stacks come as JSON and folded too, even from a program without a collector") {
  LiveTarget target("plain");
  const auto json = stacks_of(target.pid(), {"-f", "json"});
  CHECK(json.status == 0);
  CHECK(says(json, fmt::format("{{\"version\":1,\"pid\":{},", target.pid())));
  CHECK(says(json, "\"function\":\"main\""));
  const auto folded = stacks_of(target.pid(), {"-f", "folded"});
  CHECK(folded.status == 0);
  CHECK(says(folded, ";main;"));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a process that is gone does not affect the reports on the others") {
  LiveTarget first("plain");
  LiveTarget second("deadlock");
  const auto run = run_tool({"--stacks", "--max-pause", "60000", std::to_string(first.pid()),
                             "999999999", std::to_string(second.pid())});
  CAPTURE(run.output);
  CAPTURE(run.errors);
  CHECK(run.status == 3);
  CHECK(says(run, fmt::format("process {} ", first.pid())));
  CHECK(says(run, fmt::format("process {} ", second.pid())));
  CHECK(says(run, "deadlock: thread "));
  CHECK(run.errors.find("999999999") != std::string::npos);

  const auto tree = run_tool({"--tree", std::to_string(first.pid()), "--stacks"});
  CHECK(tree.status == 0);
  CHECK(tree.output.find(fmt::format("process {} ", second.pid())) == std::string::npos);
  const auto named =
      run_tool({"--name", "target_deadloc*", "--stacks", "-f", "json", "--max-pause", "60000"});
  CHECK(says(named, fmt::format("\"pid\":{},", second.pid())));
  CHECK(run_tool({"--name", "no such process", "--stacks"}).status == 3);
  CHECK(run_tool({"--stacks", "-o", "one", "1", "2"}).status == 2);
}

TEST_CASE("a stack that cannot be followed further ends with the reason") {
  LiveTarget jit("odd_stacks", {"jit"});
  REQUIRE(
      eventually(std::chrono::seconds(20), [&] { return state_of(jit.pid(), jit.pid()) == 'S'; }));
  const auto made = stacks_of(jit.pid());
  CAPTURE(made.output);
  CHECK(made.status == 0);
  CHECK(says(made, "pause"));
  CHECK(says(made, "… cannot unwind further: code generated at run time (JIT)"));
  CHECK_FALSE(says(made, "corrupt"));

  LiveTarget other("odd_stacks", {"switch"});
  REQUIRE(eventually(std::chrono::seconds(20),
                     [&] { return state_of(other.pid(), other.pid()) == 'S'; }));
  const auto switched = stacks_of(other.pid());
  CAPTURE(switched.output);
  CHECK(switched.status == 0);
  CHECK(says(switched, "wait_on"));
  CHECK(says(switched, "… cannot unwind further: this function switched to another stack"));
  const auto json = stacks_of(other.pid(), {"-f", "json"});
  CHECK(says(json, "\"end\":\"other stack\""));
}

TEST_CASE("the frames of a call that waits are not guessed in a C library without tables") {
  if (!is_target_built("musl_waits")) {
    print_skip("no musl-gcc");
    return;
  }
  LiveTarget target("musl_waits");
  REQUIRE(eventually(std::chrono::seconds(20),
                     [&] { return state_of(target.pid(), target.pid()) == 'S'; }));
  const auto run = stacks_of(target.pid());
  CAPTURE(run.output);
  const std::size_t call = run.output.find("  epoll_pwait ");
  const std::size_t main = run.output.find("  main ");
  REQUIRE(call != std::string::npos);
  REQUIRE(main != std::string::npos);
  const std::string frames = run.output.substr(0, main);
  CHECK(frames.find("guessed") == std::string::npos);
  CHECK(frames.find("leave_addresses") == std::string::npos);
  CHECK(frames.find("wait_for_events") > call);
  CHECK(frames.find("run_loop") != std::string::npos);
}

TEST_CASE("--stacks refuses options that contradict it") {
  CHECK(run_tool({"--stacks", "--count", "1"}).status == 2);
  CHECK(run_tool({"--stacks", "--snapshot", "read", "1"}).status == 2);
  CHECK(run_tool({"--stacks", "-f", "tsv", "1"}).status == 2);
  CHECK(run_tool({"--stacks", "999999999"}).status == 3);
}

}  // namespace heapattach
