#include <string>

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

Snapshot two_sessions() {
  SnapshotBuilder build;
  const auto session = build.type("Session");
  build.object(0x1000, session, 48, {{8, 1}});
  build.object(0x1030, session, 48);
  return build.snapshot;
}

class Runner {
 public:
  Runner() {
    options.pid = 4711;
    options.output = directory.file("report.%p");
    options.format = find_format("jsonl");
  }

  ExitStatus run_on(const Result<Snapshot>& found) {
    Console::Settings silent;
    silent.fd = -1;
    Console console(silent);
    Sources sources;
    sources.snapshot = [&](const auto&, const auto&, auto&) { return found; };
    return run_report(options, sources, console);
  }

  [[nodiscard]] std::string report() const {
    const auto fd = Fd::open(directory.file("report.4711"), O_RDONLY);
    if (!fd) return {};
    return *read_all(*fd, 1 << 20);
  }

  TemporaryDirectory directory;
  Options options;
};

}  // namespace

TEST_CASE("stacks end with status 10 on --fail-if deadlock if there is one") {
  const auto run = [](std::vector<stacks::Statement> findings, bool is_partial) {
    TemporaryDirectory directory;
    Options options;
    options.report = Report::Stacks;
    options.output = directory.file("stacks");
    options.format = find_format("table");
    options.fail_if = {*parse_fail_if("deadlock")};
    stacks::StackReport report;
    report.findings = std::move(findings);
    report.is_partial = is_partial;
    Console::Settings silent;
    silent.fd = -1;
    Console console(silent);
    Sources sources;
    sources.stacks = [&](const auto&, const auto&, auto&) { return report; };
    return run_report(options, sources, console);
  };
  CHECK(run({{stacks::StatementKind::Deadlock, "deadlock: two"}}, false) == ExitStatus::FailIfHeld);
  CHECK(run({{stacks::StatementKind::Deadlock, "deadlock: two"}}, true) == ExitStatus::FailIfHeld);
  CHECK(run({{stacks::StatementKind::LostLock, "thread 1 waits"}}, false) == ExitStatus::Complete);
  CHECK(run({}, true) == ExitStatus::Partial);
}

TEST_CASE("a run writes the requested report") {
  Runner runner;
  SUBCASE("a snapshot") {
    CHECK(runner.run_on(two_sessions()) == ExitStatus::Complete);
    CHECK(runner.report().find(R"("refs":{"+8":"0x1030"})") != std::string::npos);
    CHECK(runner.report().ends_with("\"skipped\":0}\n"));
  }
  SUBCASE("counts") {
    runner.options.report = Report::Count;
    runner.options.format = find_format("tsv");
    CHECK(runner.run_on(two_sessions()) == ExitStatus::Complete);
    CHECK(runner.report() == "objects\tbytes\ttype\n2\t96\tSession\n");
  }
  SUBCASE("compressed counts") {
    runner.options.report = Report::Count;
    runner.options.format = find_format("tsv");
    runner.options.with_gzip = true;
    CHECK(runner.run_on(two_sessions()) == ExitStatus::Complete);
    CHECK(runner.report().starts_with("\x1f\x8b"));
  }
}

TEST_CASE("a run that finds nothing leaves no file, and has the right status") {
  Runner runner;
  CHECK(runner.run_on(Error{ErrorKind::Gone, "no process 4711"}) == ExitStatus::Gone);
  CHECK(runner.run_on(Error{ErrorKind::Timeout, "freezing"}) == ExitStatus::Timeout);
  CHECK(runner.directory.entries() == 0);
}

TEST_CASE("leaks of a heap of an unknown kind are not judged") {
  Runner runner;
  runner.options.report = Report::Leaks;
  runner.options.format = find_format("json");
  Snapshot found = two_sessions();
  CHECK(runner.run_on(found) == ExitStatus::Complete);  // not leaks: a collector frees them
  found.heaps.emplace_back().name = "mimalloc";
  runner.options.force = true;
  CHECK(runner.run_on(found) == ExitStatus::NoHeap);
}

TEST_CASE("an output that cannot be written is detected before the target is touched") {
  Runner runner;
  runner.options.output = runner.directory.file("missing/report");
  bool was_touched = false;
  Console::Settings silent;
  silent.fd = -1;
  Console console(silent);
  Sources sources;
  sources.snapshot = [&](const auto&, const auto&, auto&) -> Result<Snapshot> {
    was_touched = true;
    return two_sessions();
  };
  CHECK(run_report(runner.options, sources, console) == ExitStatus::Output);
  CHECK_FALSE(was_touched);
}

TEST_CASE("a condition that is true sets the status, and the report is still written") {
  Runner runner;
  runner.options.report = Report::Count;
  runner.options.format = find_format("tsv");
  runner.options.rows.types = {"Nothing*"};  // conditions also apply to rows that are not shown
  runner.options.fail_if = {*parse_fail_if("count(Sess*) > 1")};
  CHECK(runner.run_on(two_sessions()) == ExitStatus::FailIfHeld);
  CHECK(runner.report() == "objects\tbytes\ttype\n");
  runner.options.force = true;
  runner.options.allow_missing = true;
  runner.options.fail_if = {*parse_fail_if("count(Sess*) > 2")};
  CHECK(runner.run_on(two_sessions()) == ExitStatus::Complete);
}

TEST_CASE("a condition may be on what a type's objects retain") {
  Runner runner;
  runner.options.report = Report::Count;
  runner.options.format = find_format("table");
  runner.options.force = true;
  Snapshot snapshot = two_sessions();
  snapshot.roots.emplace_back().to = 0;
  runner.options.fail_if = {*parse_fail_if("retained(Session) > 95")};
  CHECK(runner.run_on(snapshot) == ExitStatus::FailIfHeld);
  runner.options.fail_if = {*parse_fail_if("retained(Session) > 96")};
  CHECK(runner.run_on(snapshot) == ExitStatus::Complete);
}

TEST_CASE("a condition on an unknown type is a usage error, and the report is still written") {
  Runner runner;
  runner.options.report = Report::Count;
  runner.options.format = find_format("tsv");
  runner.options.force = true;
  for (const char* condition : {"count(Sesion) > 1", "bytes(Session*x) < 1", "retained(X) == 0"}) {
    CAPTURE(condition);
    runner.options.fail_if = {*parse_fail_if(condition)};
    CHECK(runner.run_on(two_sessions()) == ExitStatus::Usage);
    CHECK(runner.report() == "objects\tbytes\ttype\n2\t96\tSession\n");
  }
  SUBCASE("unless another one holds") {
    runner.options.fail_if.push_back(*parse_fail_if("count(Session) > 1"));
    CHECK(runner.run_on(two_sessions()) == ExitStatus::FailIfHeld);
  }
  SUBCASE("or it may be missing") {
    runner.options.allow_missing = true;
    CHECK(runner.run_on(two_sessions()) == ExitStatus::FailIfHeld);  // retained(X) is 0
    runner.options.fail_if = {*parse_fail_if("count(Sesion) > 0")};
    CHECK(runner.run_on(two_sessions()) == ExitStatus::Complete);
  }
}

TEST_CASE("a known type without objects counts as 0") {
  Runner runner;
  runner.options.report = Report::Count;
  runner.options.format = find_format("table");
  runner.options.force = true;
  SnapshotBuilder build;
  build.type("Session");
  runner.options.fail_if = {*parse_fail_if("count(Session) > 0")};
  CHECK(runner.run_on(build.snapshot) == ExitStatus::Complete);
  runner.options.fail_if = {*parse_fail_if("count(Session) == 0")};
  CHECK(runner.run_on(build.snapshot) == ExitStatus::FailIfHeld);
}

TEST_CASE("a short name means the only type that ends in it, in conditions and rows") {
  Runner runner;
  runner.options.report = Report::Count;
  runner.options.format = find_format("tsv");
  Snapshot snapshot = two_sessions();
  snapshot.types[0].name = "Shop::Session";
  runner.options.rows.types = {"Session"};
  runner.options.fail_if = {*parse_fail_if("count(Session) > 1")};
  CHECK(runner.run_on(snapshot) == ExitStatus::FailIfHeld);
  CHECK(runner.report() == "objects\tbytes\ttype\n2\t96\tShop::Session\n");
}

TEST_CASE("a file that ends before its roots is not said to keep nothing alive") {
  Runner runner;
  runner.options.explain.what = "Session";
  snapshot::Snapshot snapshot = two_sessions();
  snapshot.roots.clear();
  snapshot.complete = false;
  snapshot.reason = "the file ends early, at line 23";
  for (const Report report : {Report::Why, Report::Suspects, Report::Sizes, Report::ObjectSizes}) {
    runner.options.report = report;
    CHECK(runner.run_on(snapshot) == ExitStatus::Partial);
    CHECK(runner.report().empty());
    runner.options.force = true;
  }
}

TEST_CASE("a partial heap is written, with the status for partial") {
  Runner runner;
  Snapshot snapshot = two_sessions();
  snapshot.complete = false;
  snapshot.reason = "one block is corrupt";
  CHECK(runner.run_on(snapshot) == ExitStatus::Partial);
  CHECK(runner.report().find("\"complete\":false") != std::string::npos);
}

}  // namespace heapattach
