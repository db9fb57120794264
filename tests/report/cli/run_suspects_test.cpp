// Tests --suspects --trace with hand-written heaps and a hand-written recording.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "attach/base/fd.h"
#include "report/cli/runner.h"
#include "tests/support/small_snapshot.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;
using trace::EventKind;

constexpr std::uint64_t kBytes = 48;

// A global list that references an object at each of the addresses.
Snapshot list_of(const std::vector<std::uint64_t>& sessions) {
  SnapshotBuilder build;
  const auto list = build.type("List");
  const auto session = build.type("Session");
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> pointers;
  for (std::uint32_t i = 0; i < sessions.size(); ++i) pointers.emplace_back(8 * i, i + 1);
  build.object(0x100, list, 80, pointers);
  for (const std::uint64_t at : sessions) build.object(at, session, kBytes);
  snapshot::Root root;
  root.symbol = "SESSIONS";
  build.snapshot.roots.push_back(root);
  return build.snapshot;
}

trace::Trace trace_of(const std::vector<std::uint64_t>& allocated) {
  trace::Trace trace;
  trace.header.every = 1;
  trace.header.started = "2026-11-20T11:34:07.215Z";
  trace.frames = {{.function = "open_session", .file = "app.c", .line = 7}};
  trace.stacks = {{.frames = {0}}};
  for (const std::uint64_t at : allocated) {
    trace.events.add({.kind = EventKind::Alloc, .address = at, .bytes = kBytes, .stack = 0});
  }
  return trace;
}

struct Ran {
  ExitStatus status = ExitStatus::Failed;
  std::string text;
};

Ran run(std::vector<Snapshot> heaps, const trace::Trace& trace, const char* format = "table") {
  const TemporaryDirectory directory;
  const std::vector<const char*> arguments = {"suspects", "--trace", "1s", "-f", format, "4711"};
  const ParsedOptions parsed = parse_options(arguments);
  REQUIRE(std::holds_alternative<Options>(parsed));
  Options options = std::get<Options>(parsed);
  options.output = directory.file("report");
  Console::Settings silent;
  silent.fd = -1;
  Console console(silent);
  Sources sources;
  std::size_t next = 0;
  sources.snapshot = [&](const auto&, const auto&, auto&) -> Result<Snapshot> {
    return heaps.at(next++);
  };
  sources.examination = [](const auto&, const auto&, auto&) -> Result<snapshot::Examination> {
    return snapshot::Examination{};
  };
  sources.trace = [&](const Options& of, const auto&, auto&,
                      const std::function<void()>& before_leaving) -> Result<trace::Trace> {
    CHECK(of.trace.length == std::chrono::seconds(1));
    CHECK(next == 1);
    before_leaving();
    return trace;
  };
  Ran ran;
  ran.status = run_report(options, sources, console);
  CHECK(next == heaps.size());
  const auto fd = Fd::open(options.output, O_RDONLY);
  if (fd) ran.text = *read_all(*fd, 1 << 20);
  return ran;
}

bool has(const Ran& ran, const std::string& text) {
  return ran.text.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("what grew between two looks has the code that allocated it in between") {
  const std::vector<Snapshot> heaps = {list_of({0x1000}), list_of({0x1000, 0x1030, 0x1060})};
  const trace::Trace trace = trace_of({0x1030, 0x1060});
  const Ran ran = run(heaps, trace);
  CAPTURE(ran.text);
  CHECK(ran.status == ExitStatus::Complete);
  CHECK(has(ran, "1. 2 new Session retain 96 bytes, 100 % of what is new\n"));
  CHECK(has(ran, "global SESSIONS"));
  CHECK(has(ran,
            "    allocated here: about 2 objects, 96 bytes, by 2 samples\n"
            "        open_session (app.c:7)\n"));
  CHECK(has(ran, "2 samples are in what grew\n"));
  CHECK(has(ran, "retain"));
  const Ran json = run(heaps, trace, "json");
  const std::string code =
      R"x("allocated_by":[{"samples":2,"objects":2,"bytes":96,"frames":["open_session (app.c:7)"]}])x";
  CHECK(has(json, code));
}

TEST_CASE("an object that was sampled is new, even where another one like it was before") {
  const Ran ran = run({list_of({0x1000}), list_of({0x1000, 0x1030})}, trace_of({0x1000, 0x1030}));
  CAPTURE(ran.text);
  CHECK(has(ran, "1. 2 new Session"));
  CHECK(has(ran, "by 2 samples"));
}

TEST_CASE("what replaces as many of its type does not grow") {
  const Ran ran =
      run({list_of({0x1000, 0x1030}), list_of({0x1060, 0x1090})}, trace_of({0x1060, 0x1090}));
  CAPTURE(ran.text);
  CHECK(ran.text.starts_with("nothing grew in "));
  CHECK_FALSE(has(ran, "open_session"));
}

TEST_CASE("growth without samples has unknown code, and a partial look is a partial report") {
  std::vector<Snapshot> heaps = {list_of({0x1000}), list_of({0x1000, 0x1030})};
  heaps[0].complete = false;
  heaps[0].reason = "a part was unreadable";
  const Ran ran = run(heaps, trace_of({}));
  CAPTURE(ran.text);
  CHECK(has(ran, "allocated by unknown code"));
  CHECK(ran.status == ExitStatus::Partial);
}

}  // namespace heapattach
