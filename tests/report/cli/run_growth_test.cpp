// Tests the output and the exit status of --diff, --watch and --strings.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "attach/base/fd.h"
#include "report/cli/runner.h"
#include "report/format/export/formats.h"
#include "tests/support/small_snapshot.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

using snapshot::Snapshot;

namespace {

Snapshot sessions(int count) {
  SnapshotBuilder build;
  const auto session = build.type("Session");
  for (int i = 0; i < count; ++i) {
    build.object(0x1000 + 48 * static_cast<std::uint64_t>(i), session, 48);
  }
  return build.snapshot;
}

// A global array that references `count` sessions.
Snapshot cache_of(std::uint32_t count) {
  SnapshotBuilder build;
  std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> pointers;
  for (std::uint32_t i = 0; i < count; ++i) pointers.emplace_back(8 * i, i + 1);
  const auto buffer = build.type("Buffer");
  build.snapshot.types[buffer].elements = {0, 8, "", {{0, ""}}};
  build.object(0x100, buffer, 512, pointers);
  const auto session = build.type("Session");
  for (std::uint32_t i = 0; i < count; ++i) build.object(0x1000 + 48 * i, session, 48);
  snapshot::Root root;
  root.symbol = "CACHE";
  build.snapshot.roots.push_back(root);
  return build.snapshot;
}

// Runs reports on snapshots that it hands out one by one, followed by an error.
class Runner {
 public:
  Runner() {
    options.output = directory.file("report");
    options.force = true;
    options.format = find_format("json");
    options.pid = 4711;
    options.interval = std::chrono::milliseconds(1);
    options.compared = {{.pid = 0, .file = "a"}, {.pid = 0, .file = "b"}};
  }

  ExitStatus run(Report report, std::vector<Snapshot> snapshots) {
    options.report = report;
    Console::Settings silent;
    silent.fd = -1;
    Console console(silent);
    std::size_t next = 0;
    Sources sources;
    sources.snapshot = [&](const auto&, const auto&, auto&) -> Result<Snapshot> {
      if (next == snapshots.size()) return Error{ErrorKind::Gone, "process 4711 exited"};
      return snapshots[next++];
    };
    return run_report(options, sources, console);
  }

  [[nodiscard]] std::string report() const {
    const auto fd = Fd::open(directory.file("report"), O_RDONLY);
    return fd ? *read_all(*fd, 1 << 20) : std::string();
  }
  [[nodiscard]] bool told(std::string_view text) const {
    return report().find(text) != std::string::npos;
  }

  TemporaryDirectory directory;
  Options options;
};

}  // namespace

TEST_CASE("a difference is written, and a condition on growth sets the status") {
  Runner runner;
  CHECK(runner.run(Report::Diff, {sessions(1), sessions(3)}) == ExitStatus::Complete);
  CHECK(runner.told(R"("type":"Session","objects_before":1,"bytes_before":48,"objects_after":3)"));
  runner.options.fail_if = {*parse_fail_if("growth(Session) > 1")};
  CHECK(runner.run(Report::Diff, {sessions(1), sessions(3)}) == ExitStatus::FailIfHeld);
  CHECK(runner.told("\"grown_objects\":2"));
  CHECK(runner.run(Report::Diff, {sessions(3), sessions(3)}) == ExitStatus::Complete);
  runner.options.fail_if = {*parse_fail_if("growth(Sesion) > 1")};
  CHECK(runner.run(Report::Diff, {sessions(1), sessions(3)}) == ExitStatus::Usage);
  runner.options.fail_if = {*parse_fail_if("growth(Session) < 0")};  // only the first has the type
  CHECK(runner.run(Report::Diff, {sessions(1), SnapshotBuilder().snapshot}) ==
        ExitStatus::FailIfHeld);
}

TEST_CASE("a difference shows what holds the new objects, or that this is unknown") {
  Runner runner;
  CHECK(runner.run(Report::Diff, {cache_of(1), cache_of(30)}) == ExitStatus::Complete);
  CHECK(
      runner.told(R"("type":"Session","objects":29,"retained_bytes":1392,"with":[],"through":29)"));
  CHECK(runner.told(R"("summary":"global CACHE → [*]")"));
  CHECK(runner.told(R"("retained_before":48,"retained_after":1440,"grown_retained":1392)"));
  CHECK(runner.run(Report::Diff, {sessions(1), cache_of(30)}) == ExitStatus::Complete);
  CHECK(runner.told("the growth of retained bytes is unknown: a has no references from roots"));
  CHECK(runner.told("\"holders\":[{"));
  CHECK(runner.run(Report::Diff, {cache_of(1), sessions(30)}) == ExitStatus::Complete);
  CHECK(runner.told("the holders of the new objects are unknown: b has no references from roots"));
  CHECK_FALSE(runner.told("\"holders\""));
  runner.options.rounds = 1;
  CHECK(runner.run(Report::Watch, {cache_of(1), cache_of(30)}) == ExitStatus::Complete);
  CHECK(
      runner.told(R"("type":"Session","objects":29,"retained_bytes":1392,"with":[],"through":29)"));
}

TEST_CASE("a difference with a partial snapshot is written, with the status for partial") {
  Runner runner;
  Snapshot partial = sessions(1);
  partial.complete = false;
  partial.reason = "it ends early";
  CHECK(runner.run(Report::Diff, {sessions(1), partial}) == ExitStatus::Partial);
  CHECK(runner.told("b is partial: it ends early"));
}

TEST_CASE("a difference with an unavailable source is not written") {
  Runner runner;
  CHECK(runner.run(Report::Diff, {sessions(1)}) == ExitStatus::Gone);
  CHECK(runner.report().empty());
}

TEST_CASE("a watch reports what grew in every round") {
  Runner runner;
  runner.options.rounds = 2;
  CHECK(runner.run(Report::Watch, {sessions(1), sessions(2), sessions(4)}) == ExitStatus::Complete);
  CHECK(runner.told(R"("report":"watch")"));
  CHECK(runner.told(R"("type":"Session","objects_before":1,"bytes_before":48,"objects_after":4)"));
  CHECK(runner.run(Report::Watch, {sessions(1), sessions(4), sessions(4)}) == ExitStatus::Complete);
  CHECK(runner.told(R"("types":[])"));
  runner.options.fail_if = {*parse_fail_if("growth(Session) > 2")};
  CHECK(runner.run(Report::Watch, {sessions(1), sessions(4), sessions(4)}) ==
        ExitStatus::FailIfHeld);
  runner.options.fail_if = {*parse_fail_if("growth(Sesion) > 2")};
  CHECK(runner.run(Report::Watch, {sessions(1), sessions(4), sessions(4)}) == ExitStatus::Usage);
}

TEST_CASE("a watch as OpenMetrics leaves the counts of the last round in the file") {
  Runner runner;
  runner.options.format = find_format("openmetrics");
  runner.options.rounds = 2;
  const std::string objects = "heapattach_objects{pid=\"4711\"} ";
  CHECK(runner.run(Report::Watch, {sessions(1), sessions(2), sessions(4)}) == ExitStatus::Complete);
  CHECK(runner.told(objects + "4\n"));
  // When a look fails, the file has the previous round, although no existing file may be replaced.
  runner.options.output = runner.directory.file("fresh");
  runner.options.force = false;
  CHECK(runner.run(Report::Watch, {sessions(3), sessions(2)}) == ExitStatus::Gone);
  const auto fd = Fd::open(runner.options.output, O_RDONLY);
  REQUIRE(fd);
  CHECK(read_all(*fd, 1 << 20)->find(objects + "2\n") != std::string::npos);
  // A file that an earlier run has made is not replaced.
  CHECK(runner.run(Report::Watch, {sessions(5), sessions(6), sessions(7)}) != ExitStatus::Complete);
  CHECK(read_all(*Fd::open(runner.options.output, O_RDONLY), 1 << 20)->find(objects + "2\n") !=
        std::string::npos);
}

TEST_CASE("a watch whose process ends reports what was seen until then") {
  Runner runner;
  CHECK(runner.run(Report::Watch, {sessions(1), sessions(2)}) == ExitStatus::Gone);
  CHECK(runner.told("the watch ended after 1 of 5 rounds"));
  CHECK(runner.told(R"("type":"Session")"));
}

TEST_CASE("a watch with nothing to compare writes nothing") {
  Runner runner;
  CHECK(runner.run(Report::Watch, {sessions(1)}) == ExitStatus::Gone);
  CHECK(runner.report().empty());
}

TEST_CASE("strings without their texts are an error") {
  Runner runner;
  SnapshotBuilder build;
  build.object(0x1000, build.type("String"), 32);
  CHECK(runner.run(Report::Strings, {build.snapshot}) == ExitStatus::Failed);
  CHECK(runner.report().empty());
  CHECK(runner.run(Report::Strings, {sessions(1)}) == ExitStatus::Complete);
  CHECK(runner.told(R"("strings":0)"));
}

}  // namespace heapattach
