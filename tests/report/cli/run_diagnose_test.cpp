#include <doctest/doctest.h>
#include <fcntl.h>

#include "attach/base/fd.h"
#include "report/cli/runner.h"
#include "report/format/export/formats.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

// Runs --diagnose on evidence, and keeps what it wrote.
class DiagnoseRun {
 public:
  explicit DiagnoseRun(diagnose::Evidence evidence) : evidence_(std::move(evidence)) {
    options.report = Report::Diagnose;
    options.pid = 4711;
    options.output = directory_.file("verdict");
    options.format = find_format("table");
  }

  ExitStatus run() {
    Console::Settings silent;
    silent.fd = -1;
    Console console(silent);
    Sources sources;
    sources.diagnosis = [&](const auto&, const auto&, auto&) { return evidence_; };
    return run_report(options, sources, console);
  }

  [[nodiscard]] std::string written() const {
    const auto fd = Fd::open(options.output, O_RDONLY);
    if (!fd) return {};
    return *read_all(*fd, 1 << 20);
  }

  Options options;

 private:
  diagnose::Evidence evidence_;
  TemporaryDirectory directory_;
};

diagnose::Evidence threads_that(const std::vector<std::string>& findings) {
  diagnose::Evidence evidence;
  evidence.source = "4711";
  evidence.stacks = stacks::StackReport{};
  evidence.stacks->threads.resize(2);
  evidence.stacks->findings = stacks::statements_of(findings);
  return evidence;
}

}  // namespace

TEST_CASE("a diagnosis succeeds, whatever it finds") {
  DiagnoseRun run(threads_that({"deadlock: two threads"}));
  CHECK(run.run() == ExitStatus::Complete);
  CHECK(run.written().starts_with("deadlock: two threads\n"));
}

TEST_CASE("--fail-if found is true of a fault, and of nothing else") {
  DiagnoseRun hung(threads_that({"deadlock: two threads"}));
  hung.options.fail_if = {*parse_fail_if("found")};
  CHECK(hung.run() == ExitStatus::FailIfHeld);

  diagnose::Evidence works = threads_that({});
  works.stacks->threads[0].is_busy = true;
  DiagnoseRun busy(works);
  busy.options.fail_if = {*parse_fail_if(" found ")};
  CHECK(busy.run() == ExitStatus::Complete);
  CHECK(busy.written().starts_with("busy: "));
}

TEST_CASE("a diagnosis that could not see everything is partial") {
  diagnose::Evidence evidence = threads_that({});
  evidence.is_partial = true;
  evidence.not_examined = {"the heap: it changes too fast"};
  DiagnoseRun run(evidence);
  CHECK(run.run() == ExitStatus::Partial);
  CHECK(run.written().find("not looked at: the heap: it changes too fast\n") != std::string::npos);
}

}  // namespace heapattach
