#include "report/analyze/root_quality.h"

#include <doctest/doctest.h>

#include "report/analyze/explaining_roots.h"
#include "report/analyze/roots.h"
#include "report/analyze/suspects.h"
#include "report/analyze/why.h"
#include "report/format/write/suspect_formats.h"
#include "report/format/write/text_reports.h"
#include "report/model/collector_variable.h"
#include "symbols/unwind/stack_record.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::analyze {
namespace {

using snapshot::Root;
using snapshot::RootKind;
using snapshot::Snapshot;

snapshot::Place place(std::string function, std::string file, std::string module) {
  snapshot::Place made;
  made.at = {std::move(function), std::move(file), 7};
  made.module = std::move(module);
  return made;
}

// A Crystal program with a cache that is two steps from a global. Thread 7 runs the program, thread
// 8 is the runtime's own, and fiber 0x9000 waits in the program's code.
Snapshot cache_beside_stacks() {
  SnapshotBuilder build;
  const auto cache = build.type("Cache");
  const auto hash = build.type("Hash(String, Session)");
  const auto session = build.type("Session");
  build.snapshot.types[cache].paths = {{8, "@h"}};
  build.snapshot.types[hash].paths = {{8, "@first"}};
  build.object(0x1000, cache, 16, {{8, 1}});
  build.object(0x1010, hash, 48, {{8, 2}});
  build.object(0x2000, session, 48);
  Snapshot& made = build.snapshot;
  made.header.runtime = "crystal";
  made.places = {
      place("handle", "src/app.cr", "app"),
      place("Crystal::Scheduler#reschedule", "/usr/share/crystal/src/crystal/x.cr", "app"),
      place("GC_inner_start_routine", "", "libgc.so.1.5.1"),
      place("clone3", "", "libc.so.6"),
      place("main", "/usr/share/crystal/src/crystal/main.cr", "app"),
      place("_dl_catch_exception", "", "ld-linux-x86-64.so.2")};
  made.stacks = {{{{1}, {0}, {5}, {4}}, 0, 0, {}}, {{{1}, {2}, {3}}, 0, 0, {}}};
  made.threads = {{7, "app", 'S', 0}, {8, "SYSMON", 'S', 1}};
  made.fibers = {{0x9000, "waiter", 0}};
  Root global;
  global.symbol = "CACHE";
  global.module = "app";
  made.roots.push_back(global);
  return made;
}

Root word_of(pid_t thread, std::optional<std::uint32_t> frame, snapshot::ObjectIndex to = 2) {
  Root word;
  word.kind = RootKind::Stack;
  word.thread = thread;
  word.address = 0x7ff0;
  word.frame = frame;
  word.to = to;
  return word;
}

analyze::Why why(const Snapshot& snapshot, const std::string& what) {
  auto found = analyze::explain_why(snapshot, {what, 5, {}});
  REQUIRE(found);
  return std::move(found).value();
}

TEST_CASE("what a container of C++ holds while it grows comes after the program's variables") {
  Snapshot snapshot = cache_beside_stacks();
  snapshot.header.runtime.clear();
  snapshot.places[0] =
      place("std::vector<Row*>::_M_realloc_insert", "/usr/include/c++/12/bits/vector.tcc", "app");
  Root word = word_of(7, 1);
  word.variable = "__new_start";
  CHECK(RootQualities(snapshot).of(word) == RootQuality::LibraryVariable);
  snapshot.places[0] = place("build_report", "report.cpp", "app");
  CHECK(RootQualities(snapshot).of(word) == RootQuality::Variable);
  snapshot.places[0].inlined = {{"std::vector<Row*>::push_back", "", 0}};
  CHECK(RootQualities(snapshot).of(word) == RootQuality::Variable);
  word.inlined = 0;
  CHECK(RootQualities(snapshot).of(word) == RootQuality::LibraryVariable);
}

TEST_CASE("the quality of a word on a stack depends on what the word is") {
  const Snapshot snapshot = cache_beside_stacks();
  RootQualities qualities(snapshot);
  const auto quality = [&](Root root) { return qualities.of(root); };
  Root word = word_of(7, 1);
  CHECK(quality(snapshot.roots[0]) == RootQuality::Variable);
  CHECK(quality(word) == RootQuality::Word);
  word.variable = "session";
  CHECK(quality(word) == RootQuality::Variable);
  word.is_below_stack_pointer = true;
  CHECK(quality(word) == RootQuality::Variable);
  word.variable.clear();
  CHECK(quality(word) == RootQuality::Leftover);
  CHECK(quality(word_of(7, 0)) == RootQuality::RuntimeWord);
  CHECK(quality(word_of(7, 2)) == RootQuality::Leftover);  // the loader's frame
  CHECK(quality(word_of(7, {})) == RootQuality::RuntimeWord);
  CHECK(quality(word_of(7, 99)) == RootQuality::RuntimeWord);
  CHECK(quality(word_of(99, {})) == RootQuality::Word);  // its stack is unknown
  for (const std::uint32_t frame : {0U, 1U, 2U}) {
    Root idle = word_of(8, frame);
    CHECK(quality(idle) == RootQuality::Leftover);
    idle.kind = RootKind::Register;
    CHECK(quality(idle) == RootQuality::Leftover);
    idle.variable = "arg";
    CHECK(quality(idle) == RootQuality::RuntimeWord);
  }
  Root waiting = word_of(0, 1);
  waiting.kind = RootKind::Fiber;
  waiting.thread.reset();
  waiting.fiber = 0x9000;
  CHECK(quality(waiting) == RootQuality::Word);
}

TEST_CASE("static data is a variable if it has a name, and is not the collector's") {
  const Snapshot snapshot = cache_beside_stacks();
  RootQualities qualities(snapshot);
  Root root;
  root.module = "app";
  CHECK(qualities.of(root) == RootQuality::Memory);
  root.symbol = "GC_last";
  CHECK(qualities.of(root) == RootQuality::Collector);
  root.symbol = snapshot::collector_variable("GC_last");
  CHECK(root.symbol == "GC_last");
  root.symbol = snapshot::collector_variable("last_addr.0");
  CHECK(root.symbol == "last_addr.0 (of the collector)");
  CHECK(qualities.of(root) == RootQuality::Collector);
  root.symbol = snapshot::collector_variable("");
  CHECK(qualities.of(root) == RootQuality::Collector);
  root.symbol = "last_addr";
  CHECK(qualities.of(root) == RootQuality::Variable);
  root.symbol = "_rtld_global";
  root.module = "ld-linux-x86-64.so.2";
  CHECK(qualities.of(root) == RootQuality::Collector);
  root.kind = RootKind::Finalizer;
  CHECK(qualities.of(root) == RootQuality::Collector);
  root.kind = RootKind::Uncollectable;
  CHECK(qualities.of(root) == RootQuality::Variable);
}

TEST_CASE("a variable of the collector explains nothing that a global of the program reaches") {
  Snapshot snapshot = cache_beside_stacks();
  Root hint;
  hint.symbol = snapshot::collector_variable("last_addr.0");
  hint.module = "app";
  hint.to = 2;
  snapshot.roots.insert(snapshot.roots.begin(), hint);
  REQUIRE(explaining_roots(snapshot).numbers == std::vector<std::uint32_t>{1});
  snapshot.roots[1].to = 0;
  snapshot.roots[0].symbol = "last";  // a variable of the program, so both roots count
  CHECK(explaining_roots(snapshot).numbers.size() == 2);
}

TEST_CASE("a thread whose stack was walked only in part may run the program") {
  Snapshot snapshot = cache_beside_stacks();
  SUBCASE("its end is not known") {
    snapshot.stacks[1].end = unwind::StackEnd::Unknown;
  }
  SUBCASE("its middle is left out") {
    snapshot.stacks[1].left_out = 3;
  }
  RootQualities qualities(snapshot);
  CHECK(qualities.of(word_of(8, {})) == RootQuality::RuntimeWord);
  CHECK(qualities.of(word_of(8, 0)) == RootQuality::RuntimeWord);
  CHECK(qualities.of(word_of(8, 1)) == RootQuality::Leftover);  // the collector's frame
}

TEST_CASE("a C program's class called Crystal is its own") {
  Snapshot snapshot = cache_beside_stacks();
  snapshot.header.runtime = "c++";
  CHECK(RootQualities(snapshot).of(word_of(7, 0)) == RootQuality::Word);
}

TEST_CASE("a leftover word one step away is not the reason if a global holds the object") {
  Snapshot snapshot = cache_beside_stacks();
  snapshot.roots.push_back(word_of(8, 1, 1));
  snapshot.roots.push_back(word_of(8, 1, 2));
  for (const char* what : {"Session", "0x2000"}) {
    const auto found = why(snapshot, what);
    REQUIRE(found.paths.size() == 1);
    CHECK(found.paths[0].root == 0);
    CHECK(found.paths[0].root_path.size() == 3);
    CHECK(found.paths[0].dominators.size() == 2);
    CHECK(format_why_json(snapshot, found).find("leftover") == std::string::npos);
  }
  const auto suspects = analyze::find_suspects(snapshot);
  REQUIRE(!suspects.found.empty());
  for (const auto& suspect : suspects.found) CHECK(suspect.root == 0);
}

TEST_CASE(
    "a leftover word that is the only root of an object is marked as such, in text and JSON") {
  Snapshot snapshot = cache_beside_stacks();
  snapshot.roots = {word_of(8, 1)};
  const auto found = why(snapshot, "Session");
  REQUIRE(found.paths.size() == 1);
  CHECK(found.paths[0].summary == "leftover words on stacks of threads");
  const std::string text = format_why_text(snapshot, found, {});
  CHECK(text.find("thread 8 SYSMON, frame 1 GC_inner_start_routine (libgc.so.1.5.1), a leftover "
                  "word at 0x7ff0") != std::string::npos);
  CHECK(format_why_json(snapshot, found).find("\"leftover\":true") != std::string::npos);
  const auto suspects = analyze::find_suspects(snapshot);
  CHECK(format_suspects_text(snapshot, {suspects}, {}).find("leftover") != std::string::npos);
}

TEST_CASE("a variable's longer path comes before an unnamed word's shorter one") {
  Snapshot snapshot = cache_beside_stacks();
  snapshot.roots.push_back(word_of(7, 1, 1));
  snapshot.roots.push_back(word_of(7, 0, 2));
  const auto of_object = why(snapshot, "0x2000");
  REQUIRE(of_object.paths.size() == 3);
  CHECK(of_object.paths[0].root == 0);
  CHECK(of_object.paths[1].root == 1);  // in the program's frame
  CHECK(of_object.paths[2].root == 2);  // in a library's frame
  CHECK(why(snapshot, "Session").paths[0].root == 0);
}

TEST_CASE("of two variables the nearer one is the reason, and at equal distance the global") {
  Snapshot snapshot = cache_beside_stacks();
  Root local = word_of(7, 1);
  local.variable = "session";
  snapshot.roots.push_back(local);
  CHECK(why(snapshot, "0x2000").paths[0].root == 1);
  snapshot.roots[1].to = 0;  // as near as the global
  CHECK(why(snapshot, "0x2000").paths[0].root == 0);
  CHECK(why(snapshot, "0x2000").paths.size() == 2);
  snapshot.roots[0].to = 1;
  CHECK(why(snapshot, "0x2000").paths[0].root == 0);
}

TEST_CASE("an object with a finalizer is retained by what references it") {
  Snapshot snapshot = cache_beside_stacks();
  Root table;
  table.kind = RootKind::Finalizer;
  table.to = 2;
  snapshot.roots.push_back(table);
  const auto found = why(snapshot, "Session");
  CHECK(found.paths[0].root == 0);
  CHECK(found.paths[0].dominators.size() == 2);
  snapshot.roots = {table, word_of(8, 1)};
  CHECK(why(snapshot, "Session").paths[0].root == 0);
}

// Fiber "worker" at 0x2000 holds a job by its closure. Fiber "other" at 0x3000 resumed it last.
// Both are in the runtime's list, which begins with "other". The frames of both, innermost first:
// Crystal::Scheduler#reschedule, the program's function handle (only of "worker"), Fiber#run.
Snapshot fibers_in_a_list() {
  SnapshotBuilder build;
  const auto list = build.type("Thread::LinkedList(Fiber)");
  const auto fiber = build.type("Fiber");
  const auto job = build.type("Job");
  build.snapshot.types[list].paths = {{8, "@head"}};
  build.snapshot.types[fiber].paths = {{8, "@next"}, {16, "@proc"}};
  build.object(0x1000, list, 32, {{8, 2}});
  build.object(0x2000, fiber, 32, {{16, 3}});
  build.object(0x3000, fiber, 32, {{8, 1}});
  build.object(0x4000, job, 64);
  Snapshot& made = build.snapshot;
  made.header.runtime = "crystal";
  made.places = {place("Crystal::Scheduler#resume", "/usr/share/crystal/src/crystal/x.cr", "app"),
                 place("handle", "src/app.cr", "app"),
                 place("Fiber#run", "/usr/share/crystal/src/fiber.cr", "app"),
                 place("main", "/usr/share/crystal/src/crystal/main.cr", "app")};
  made.stacks = {{{{0}, {1}, {2}}, 0, 0, {}}, {{{0}, {1}, {2}}, 0, 0, {}}};
  made.fibers = {{0x2000, "worker", 0}, {0x3000, "other", 1}};
  Root global;
  global.symbol = "Fiber::fibers";
  made.roots.push_back(global);
  return made;
}

Root variable_of(std::uint64_t fiber, std::uint32_t frame, snapshot::ObjectIndex to) {
  Root root;
  root.kind = RootKind::Fiber;
  root.fiber = fiber;
  root.frame = frame;
  root.variable = "fiber";
  root.address = 0x7000 + frame;
  root.to = to;
  return root;
}

TEST_CASE("a fiber that another one resumed is not blamed on that one") {
  Snapshot snapshot = fibers_in_a_list();
  snapshot.roots.push_back(variable_of(0x3000, 0, 1));  // only passes the fiber on
  snapshot.roots.push_back(variable_of(0x2000, 0, 1));  // its own stack, but the scheduler's frame
  snapshot.roots.push_back(variable_of(0x2000, 2, 1));
  RootQualities qualities(snapshot);
  CHECK(qualities.of(snapshot.roots[1]) == RootQuality::Collector);
  CHECK(qualities.of(snapshot.roots[2]) == RootQuality::Collector);
  CHECK(qualities.of(snapshot.roots[3]) == RootQuality::Variable);
  CHECK(qualities.of(variable_of(0x3000, 1, 1)) == RootQuality::Variable);  // the program's
  const auto found = why(snapshot, "Job");
  REQUIRE(found.paths.size() == 1);
  CHECK(found.paths[0].root == 3);
  CHECK(found.paths[0].summary == "variable fiber of Fiber#run on stacks of fibers → @proc");
  const std::string text = format_why_text(snapshot, found, {});
  CHECK(text.find("→ 0x2000 Fiber \"worker\"\n") != std::string::npos);
  CHECK(format_why_json(snapshot, found).find("\"fiber\":\"worker\"") != std::string::npos);
}

TEST_CASE("the stack of a fiber is the reason before the list of fibers, however near that is") {
  Snapshot snapshot = fibers_in_a_list();
  Root word = variable_of(0x2000, 1, 3);
  word.variable.clear();
  snapshot.roots.push_back(word);
  CHECK(why(snapshot, "Job").paths[0].root == 1);
  CHECK(why(snapshot, "0x4000").paths[0].root == 1);
  CHECK(why(snapshot, "0x4000").paths.size() == 2);
  snapshot.roots.pop_back();
  const auto listed = why(snapshot, "Job");  // nothing else holds it
  CHECK(listed.paths[0].summary == "global Fiber::fibers → @head → @next → @proc");
  CHECK(listed.unreached == 0);
}

}  // namespace
}  // namespace heapattach::analyze
