#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "report/format/write/text_reports.h"

namespace heapattach::stacks {

namespace {

NamedFrame frame(const std::string& function, bool is_inlined = false) {
  NamedFrame made;
  made.function = function;
  made.file = "app.cr";
  made.line = 7;
  made.pc = RemoteAddr{0x1234};
  made.module = "app";
  made.offset = 0x234;
  made.is_inlined = is_inlined;
  return made;
}

// Adds a stack with these frames to a report, and returns its number.
std::uint32_t add_stack(StackReport& report, const std::vector<NamedFrame>& frames) {
  snapshot::Stack& stack = report.stacks.emplace_back();
  std::vector<snapshot::CodeLine> inlined;
  std::vector<bool> is_own;
  for (const NamedFrame& frame : frames) {
    snapshot::CodeLine line{frame.function, frame.file, frame.line, frame.column};
    is_own.push_back(frame.is_own);
    if (frame.is_inlined) {
      inlined.push_back(std::move(line));
      continue;
    }
    stack.frames.push_back({static_cast<std::uint32_t>(report.places.size()), frame.found_by});
    PlaceSeen& place = report.places.emplace_back();
    place.pc = frame.pc.value;
    place.at = std::move(line);
    place.inlined = std::exchange(inlined, {});
    place.module = frame.module;
    place.offset = frame.offset;
    place.is_own = std::exchange(is_own, {});
  }
  return static_cast<std::uint32_t>(report.stacks.size() - 1);
}

StackReport small_report() {
  StackReport report;
  report.pid = 4711;
  report.exe = "/srv/app";
  report.pause = std::chrono::microseconds(1500);
  report.findings = statements_of({"deadlock: nobody goes on"});
  ThreadSeen thread;
  thread.tid = 4711;
  thread.name = "app";
  thread.state = 'S';
  thread.wait.call = "read(5: pipe)";
  thread.stack = add_stack(report, {frame("inner", true), frame("outer"), frame("")});
  report.threads = {thread};
  FiberSeen fiber;
  fiber.address = 0x7000;
  fiber.name = "one";
  fiber.wait.kind = WaitKind::Sleep;
  fiber.wait.left = std::chrono::milliseconds(9500);
  report.fibers = {fiber, fiber};
  report.groups.emplace_back();
  report.groups[0].fibers = {0, 1};
  report.groups[0].stack = add_stack(report, {frame("sleep"), frame("run")});
  return report;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("findings come first, then the process, its threads and its fibers") {
  const std::string text = format_stacks_text(small_report(), {});
  CHECK(text ==
        "deadlock: nobody goes on\n"
        "process 4711 /srv/app: 1 thread, 2 fibers, paused for 1.5 ms\n"
        "\n"
        "thread 4711 app, sleeping in read(5: pipe), 0.00 s of processor time\n"
        "    0  inner  app.cr:7  inlined\n"
        "    0  outer  app.cr:7  app+0x234\n"
        "    1  ?      app.cr:7  app+0x234\n"
        "\n"
        "2 fibers \"one\", \"one\"\n"
        "  each sleeps, 9.5 s left\n"
        "    0  sleep  app.cr:7  app+0x234\n"
        "    1  run    app.cr:7  app+0x234\n");
  CHECK(says(format_stacks_text(small_report(), {.with_colour = true}), "\x1b[1;31mdeadlock"));
}

TEST_CASE("a thread of the kernel is said to run no code of the program") {
  StackReport report = small_report();
  CHECK_FALSE(says(format_stacks_json(report), "kernel"));
  report.threads[0].is_of_kernel = true;
  report.threads[0].stack.reset();
  CHECK(says(format_stacks_text(report, {}), "time\n  a kernel thread (io_uring)"));
  CHECK(says(format_stacks_json(report), "\"kernel\":true,\"frames\":[]"));
}

TEST_CASE("a fiber is identified by its thread and context if its name is ambiguous") {
  StackReport report = small_report();
  report.fibers[0].name = report.fibers[1].name = "main";
  report.fibers[0].of_thread = "4712 SYSMON";
  report.fibers[1].context = "WORKERS";
  report.remarks = statements_of({"2 fibers wait"});
  const std::string text = format_stacks_text(report, {});
  CHECK(says(text, "\n2 fibers \"main\" of thread 4712 SYSMON, \"main\" of context WORKERS\n"));
  CHECK(says(text, "\nremark: 2 fibers wait\n"));
  report.fibers[1].context = "DEFAULT";
  CHECK(says(format_stacks_text(report, {}), "SYSMON, \"main\"\n"));
  const std::string json = format_stacks_json(report);
  CHECK(says(json, "\"remarks\":[\"2 fibers wait\"]"));
  CHECK(says(json, "\"context\":\"DEFAULT\""));
  CHECK(says(json, "\"of_thread\":\"4712 SYSMON\""));
}

TEST_CASE("what a core file lacks is reported as missing, not as zero") {
  StackReport report = small_report();
  report.core = CoreFacts{11, 4711};
  report.threads[0].state = '?';
  report.fibers[0].wait.left.reset();
  const std::string text = format_stacks_text(report, {});
  CHECK(
      says(text, "2 fibers, from a core file of signal 11 SIGSEGV in thread 4711 (which has no "));
  CHECK(says(text, "\nthread 4711 app, in read(5: pipe)\n"));
  CHECK_FALSE(says(text, "paused"));
  const std::string json = format_stacks_json(report);
  CHECK(says(json, R"("core":{"signal":11,"thread":4711})"));
  for (const char* key : {"pause_ms", "cpu_s", "state"}) CHECK_FALSE(says(json, key));
  report.core->signal = 0;
  CHECK(says(format_stacks_text(report, {}), "from a core file (which"));
  CHECK(says(format_stacks_json(report), R"("core":{})"));
}

TEST_CASE("a gap in a deep stack is shown, and numbers continue after it") {
  StackReport report = small_report();
  report.threads[0].stack = add_stack(report, {frame("first"), frame("last")});
  snapshot::Stack& stack = report.stacks.back();
  stack.left_out = 1000;
  stack.left_out_behind = 1;
  stack.end = unwind::StackEnd::Corrupt;
  const std::string text = format_stacks_text(report, {});
  CHECK(says(text, "… 1000 more frames …\n  1001  last"));
  CHECK(says(text, "… cannot unwind further (generated code?)"));
}

TEST_CASE("names cannot control a terminal") {
  StackReport report = small_report();
  report.threads[0].name = "\x1b[2J";
  report.places[0].inlined[0].function = "a\nb;c";
  CHECK(!says(format_stacks_text(report, {}), "\x1b"));
  CHECK(says(format_stacks_folded(report), "a\\nb:c"));
}

TEST_CASE("folded stacks begin with the outermost function and end with a count") {
  CHECK(format_stacks_folded(small_report()) ==
        "app;fibers;run;sleep 2\n"
        "app;thread app;app+0x234;outer;inner 1\n");
}

TEST_CASE("the JSON has every frame, and fibers have their group") {
  const std::string json = format_stacks_json(small_report());
  CHECK(
      json.starts_with("{\"version\":1,\"pid\":4711,\"exe\":\"/srv/app\",\"pause_ms\":1.500,"
                       "\"findings\":[\"deadlock: nobody goes on\"],\"threads\":[{\"tid\":4711,"));
  CHECK(says(json,
             "{\"pc\":\"0x1234\",\"function\":\"inner\",\"file\":\"app.cr\",\"line\":7,"
             "\"inlined\":true,\"module\":\"app\",\"offset\":\"0x234\",\"found_by\":"
             "\"registers\"}"));
  CHECK(says(json,
             "{\"address\":\"0x7000\",\"name\":\"one\",\"wait\":\"sleep\",\"left_s\":9.500,"
             "\"group\":0}"));
  CHECK(json.ends_with("\"end\":\"outermost\"}]}\n"));
}

TEST_CASE(
    "brief stacks fold frames that are not the program's own, except those that its code called") {
  StackReport report = small_report();
  NamedFrame own = frame("Shop#sell");
  own.is_own = true;
  report.threads[0].stack = add_stack(report, {frame("a"), frame("b"), frame("Mutex#lock"), own,
                                               frame("run"), frame("main"), frame("_start")});
  report.groups[0].stack = add_stack(report, {frame("wait"), frame("c"), frame("d")});
  const std::string text = format_stacks_text(report, {.is_brief = true});
  CHECK(says(text,
             "      … 2 frames of the runtime and libraries\n"
             "    2  Mutex#lock  app.cr:7  app+0x234\n"
             "    3  Shop#sell   app.cr:7  app+0x234\n"
             "      … 3 frames of the runtime and libraries\n"));
  CHECK(says(text,
             "    0  wait  app.cr:7  app+0x234\n"
             "      … 2 frames of the runtime and libraries\n"));
  // A stripped program's own code has no names.
  const std::uint32_t main = report.stacks[*report.threads[0].stack].frames[5].place;
  report.places[main].may_be_own = true;
  CHECK(says(format_stacks_text(report, {.is_brief = true}),
             "    5  main        app.cr:7  app+0x234\n"));
  CHECK(says(format_stacks_text(report, {.with_colour = true}),
             "\x1b[36m    3  Shop#sell   app.cr:7  app+0x234\x1b[0m\n"));
  CHECK(!says(format_stacks_text(report, {}), "…"));
}

TEST_CASE("a thread of Ruby's has its Ruby frames first, as text, JSON and folded") {
  StackReport report = small_report();
  RubySeen ruby;
  ruby.is_main = true;
  ruby.doing = "sleeps";
  ruby.fibers.resize(2);
  ruby.fibers[0].frames = {{"sleep", "app\x1b.rb", 42, true, "Kernel", 0},
                           {"handle", "app.rb", 42, false, "", 0}};
  ruby.fibers[1].frames = {{"<main>", "app.rb", 50, false, "", 0}};
  ruby.fibers[1].is_whole = false;
  ruby.suspended.resize(30);
  report.threads[0].ruby = ruby;
  const std::string text = format_stacks_text(report, {});
  CHECK(says(text,
             "  main Ruby thread sleeps\n"
             "      app\\x1b.rb:42 in sleep\n"
             "      app.rb:42 in handle\n"
             "    resumed by another fiber:\n"
             "      app.rb:50 in <main>\n"
             "      … the rest could not be read\n"));
  CHECK(says(text, "    … and 10 more suspended fibers\n"));
  const std::string json = format_stacks_json(report);
  CHECK(says(json,
             R"("ruby":{"main":true,"doing":"sleeps","fibers":[{"frames":[{"function":"sleep",)"));
  CHECK(says(json, R"("line":42,"native":true,"owner":"Kernel"})"));
  CHECK(says(json, R"("whole":false}],"suspended":[{"frames":[]},)"));
  CHECK(says(format_stacks_folded(report),
             "app;thread app;<main> (app.rb);handle (app.rb);sleep (app\\x1b.rb) 1\n"));
}

}  // namespace heapattach::stacks
