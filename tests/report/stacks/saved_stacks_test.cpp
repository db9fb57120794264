#include "report/stacks/saved_stacks.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "report/format/read/json_lines.h"
#include "report/format/write/json_lines.h"
#include "report/format/write/text_reports.h"
#include "report/stacks/named_stacks.h"
#include "tests/support/memory_sink.h"
#include "tests/support/temporary_directory.h"

namespace heapattach::stacks {

namespace {

// Two fibers that wait for each other's lock, a third fiber that waits for a lock whose holder is
// unknown, and the thread.
snapshot::Snapshot deadlock() {
  snapshot::Snapshot snapshot;
  snapshot.header.pid = 4711;
  snapshot.header.exe = "/srv/app";
  snapshot.header.runtime = "crystal";
  snapshot.header.captured = "2026-11-20T11:34:07.215Z";
  snapshot.header.findings = {"deadlock: one and two"};
  snapshot.places = {{.pc = 0x10,
                      .at = {"Mutex#lock", "/lib/crystal/mutex.cr", 66},
                      .inlined = {},
                      .module = "app",
                      .offset = 0x4f2a},
                     {.pc = 0x20,
                      .at = {"Ledger#transfer", "/src/ledger.cr", 17},
                      .inlined = {{"Ledger#add", "/src/ledger.cr", 12}},
                      .module = "app"},
                     {.pc = 0x30,
                      .at = {"Fiber#run", "/lib/crystal/fiber.cr", 170},
                      .inlined = {},
                      .module = "app"}};
  snapshot.stacks.resize(1);
  snapshot.stacks[0].frames = {{0, {}}, {1, {}}, {2, {}}};
  snapshot::Thread thread;
  thread.tid = 4711;
  thread.state = 'S';
  thread.wait.call = "epoll_wait(4)";
  snapshot.threads = {thread};
  for (std::uint64_t i = 0; i < 3; ++i) {
    snapshot::Fiber fiber;
    fiber.address = 0x7000 + 0x100 * i;
    fiber.name = i == 0 ? "one" : i == 1 ? "two" : "three";
    fiber.stack = 0;
    fiber.wait.kind = WaitKind::Mutex;
    fiber.wait.type = "Mutex";
    fiber.wait.object = RemoteAddr{0x9000};
    if (i < 2) fiber.wait.owner = 1 - i;
    if (i < 2) fiber.finding = 0;
    snapshot.fibers.push_back(fiber);
  }
  return snapshot;
}

}  // namespace

TEST_CASE("a saved snapshot gives the stacks that it has, and reports what is missing") {
  const StackReport report = saved_stacks(deadlock());
  CHECK(texts_of(report.findings) == std::vector<std::string>{"deadlock: one and two"});
  REQUIRE(report.groups.size() == 1);
  CHECK(report.groups[0].fibers.size() == 3);
  const auto frames = named(report, report.groups[0].stack).frames;
  REQUIRE(frames.size() == 4);
  CHECK(frames[1].function == "Ledger#add");
  CHECK(frames[1].is_inlined);
  CHECK(frames[1].is_own);
  CHECK_FALSE(frames[0].is_own);
  CHECK_FALSE(frames[3].is_own);
  CHECK_FALSE(report.is_partial);
  const std::string text = format_stacks_text(report, {});
  CHECK(text.find("app+0x4f2a") != std::string::npos);
  CHECK(text.find("+0x0") == std::string::npos);  // frames without an offset show none
  CHECK(text.starts_with(
      "deadlock: one and two\n"
      "process 4711 /srv/app: 1 thread, 3 fibers, from a snapshot of 2026-11-20T11:34:07.215Z "
      "(which has no wait channels"));
  CHECK(text.find("thread 4711, sleeping in epoll_wait(4)\n") != std::string::npos);
  CHECK(text.find("1: waits for Mutex 0x9000, which fiber \"two\" holds") != std::string::npos);
  const std::string json = format_stacks_json(report);
  CHECK(json.find("\"snapshot\":\"2026-11-20T11:34:07.215Z\"") != std::string::npos);
  CHECK(json.find("cpu_s") == std::string::npos);
}

TEST_CASE("a saved snapshot keeps the Ruby frames of threads, and of suspended fibers") {
  StackReport report;
  report.pid = 4711;
  report.exe = "/usr/bin/ruby";
  report.findings = {{StatementKind::Deadlock, "deadlock: both"}};
  const auto frame = [](const std::string& function, std::uint32_t line) {
    return ruby::Frame{function, "app.rb", line, false, "", 0};
  };
  const ruby::Frame pop{"pop", "app.rb", 42, true, "Thread::Queue", 0x9000};
  const ruby::FiberStack stack{.fiber = 0x7100, .frames = {pop, frame("handle", 42)}};
  const ruby::FiberStack outer{.fiber = 0x7200, .frames = {frame("<main>", 7)}};
  const ruby::FiberStack cut{.fiber = 0x7300, .frames = {frame("yield", 9)}, .is_whole = false};
  for (const pid_t tid : {4711, 4712}) {
    ThreadSeen& thread = report.threads.emplace_back();
    thread.tid = tid;
    thread.name = "ruby";
    thread.state = 'S';
    thread.ruby.emplace();
  }
  report.threads[1].ruby =
      RubySeen{"worker", false, "waits for an item of Queue 0x9000", {}, {stack, outer}, {cut}};
  report.threads[0].ruby->fibers = {{.fiber = 0x7400, .frames = {frame("<main>", 1)}}};
  report.threads[0].wait.thread = 1;
  report.threads[0].wait.mutex = "Mutex 0x9100";
  PlaceSeen& place = report.places.emplace_back();
  place.inlined.emplace_back().function = "inner";
  place.at.function = "outer";
  place.module = "libc";
  report.stacks.emplace_back().frames = {{0, {}}};
  report.threads[0].stack = 0;
  snapshot::Snapshot snapshot;
  snapshot.header.pid = 4711;
  snapshot.header.exe = report.exe;
  snapshot.header.runtime = "ruby";
  save_stacks(report, snapshot);

  const auto check = [](const StackReport& saved) {
    CHECK(saved.findings == statements_of({"deadlock: both"}));
    CHECK(saved.fibers.empty());
    CHECK(saved.groups.empty());
    CHECK_FALSE(saved.is_partial);
    const std::string text = format_stacks_text(saved, {});
    CHECK(text.find("main Ruby thread waits for Mutex 0x9100\n") != std::string::npos);
    CHECK(text.find("  Ruby thread \"worker\" waits to receive from Queue 0x9000\n"
                    "      app.rb:42 in pop\n"
                    "      app.rb:42 in handle\n"
                    "    resumed by another fiber:\n"
                    "      app.rb:7 in <main>\n"
                    "    suspended fiber 0x7300:\n"
                    "      app.rb:9 in yield\n"
                    "      … the rest could not be read\n") != std::string::npos);
    CHECK_MESSAGE(text.find("inner") < text.find("outer"), text);
  };
  check(saved_stacks(snapshot));
  MemorySink sink;
  REQUIRE(write_json_lines(snapshot, sink, {}));
  const TemporaryDirectory directory;
  const std::string file = directory.file("saved.jsonl");
  std::ofstream(file, std::ios::binary) << sink.text;
  const auto again = read::read_json_lines(file, {});
  REQUIRE_MESSAGE(again, again.error().message());
  check(saved_stacks(*again));
}

TEST_CASE("a saved wait for an object's lock or pulse has the words of a live one") {
  using snapshot::ThreadWaitKind;
  snapshot::Snapshot snapshot = deadlock();
  snapshot.header.runtime.clear();
  snapshot.fibers.clear();
  snapshot.threads.resize(2);
  snapshot.threads[1].tid = 4712;
  snapshot.threads[1].name = "consumer";
  snapshot.threads[0].wait = {.call = "futex(0x10)",
                              .thread = 1,
                              .kind = ThreadWaitKind::ObjectLock,
                              .mutex = "the lock of Game.Account 0x7f10"};
  snapshot.threads[1].wait = {.call = "futex(0x20)",
                              .thread = {},
                              .kind = ThreadWaitKind::Pulse,
                              .mutex = "a pulse of Game.Queue 0x7f20"};
  MemorySink sink;
  REQUIRE(write_json_lines(snapshot, sink, {}));
  const TemporaryDirectory directory;
  const std::string file = directory.file("saved.jsonl");
  std::ofstream(file, std::ios::binary) << sink.text;
  const auto again = read::read_json_lines(file, {});
  REQUIRE_MESSAGE(again, again.error().message());
  for (const snapshot::Snapshot& one : {snapshot, *again}) {
    const std::string text = format_stacks_text(saved_stacks(one), {});
    CAPTURE(text);
    CHECK(text.find(
              "  waits for the lock of Game.Account 0x7f10, which thread 4712 consumer holds") !=
          std::string::npos);
    CHECK(text.find("  waits for a pulse of Game.Queue 0x7f20\n") != std::string::npos);
  }
}

TEST_CASE("the stacks of a snapshot without waits or without threads are partial") {
  snapshot::Snapshot snapshot = deadlock();
  for (auto& fiber : snapshot.fibers) fiber.wait = {};
  snapshot.threads[0].wait = {};
  StackReport report = saved_stacks(snapshot);
  CHECK(report.is_partial);
  CHECK(report.warnings.size() == 1);
  // A running thread waits for nothing.
  snapshot.threads[0].state = 'R';
  snapshot.fibers.clear();
  CHECK(saved_stacks(snapshot).warnings.empty());
  snapshot.threads.clear();
  report = saved_stacks(snapshot);
  CHECK(report.warnings == std::vector<std::string>{"the snapshot has no threads"});
}

TEST_CASE("code of a program that was built in another directory is its own, glibc's is not") {
  const stacks::CrystalLibrary no_crystal;
  for (const char* file : {"../src/printer.cpp", "../../../app/io.c", "./main.c", "../io/print.cpp",
                           "/srv/app/main.cpp"}) {
    CAPTURE(file);
    CHECK(stacks::is_own_code("take_job", file, no_crystal));
  }
  for (const char* file : {"../sysdeps/unix/sysv/linux/read.c", "./nptl/futex-internal.c",
                           "/usr/include/c++/12/bits/std_function.h"}) {
    CAPTURE(file);
    CHECK_FALSE(stacks::is_own_code("take_job", file, no_crystal));
  }
}

}  // namespace heapattach::stacks
