#include "report/cli/gate.h"

#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "report/cli/run_many.h"
#include "report/format/export/formats.h"
#include "report/format/export/html_page.h"
#include "tests/support/small_snapshot.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

Answer judged(const Options& options) {
  SnapshotBuilder build;
  build.object(0x1000, build.type("Shop::Session"), 32);
  Console console(Console::Settings{.quiet = true});
  Gate gate(options, console);
  gate.add(build.snapshot);
  Answer answer;
  gate.judge([](const FailIf&) { return 1; }, answer);
  return answer;
}

ExitStatus run_all_of(const std::vector<ExitStatus>& statuses) {
  Options options;
  options.output = "heap-%p.jsonl";
  options.format = find_format("jsonl");
  Console console(Console::Settings{.quiet = true});
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < statuses.size(); ++i) pids.push_back(static_cast<pid_t>(i));
  return run_many(
      options, pids,
      [&](const Options& one) { return statuses.at(static_cast<std::size_t>(one.pid)); }, console);
}

}  // namespace

TEST_CASE("a type that is not there is a mistake, unless it may be missing") {
  Options options;
  options.rows.types = {"Shop::*"};
  CHECK(judged(options).status == ExitStatus::Complete);
  options.rows.types = {"Shop::*", "Sesion"};
  CHECK(judged(options).status == ExitStatus::Usage);
  options.allow_missing = true;
  CHECK(judged(options).status == ExitStatus::Complete);
}

TEST_CASE("a condition that holds for one of several processes decides the status") {
  using enum ExitStatus;
  CHECK(run_all_of({Complete, FailIfHeld, Usage}) == FailIfHeld);
  CHECK(run_all_of({Usage, FailIfHeld}) == FailIfHeld);
  CHECK(run_all_of({NoHeap, Complete, Gone}) == NoHeap);
  CHECK(run_all_of({Complete, Complete}) == Complete);
}

TEST_CASE("reports on several processes are joined if a format has no room for two") {
  const auto gathers = [](const char* format, std::vector<pid_t> pids, const char* name) {
    Options options;
    options.format = find_format(format);
    options.name = name;
    Console console(Console::Settings{.quiet = true});
    bool is_gathered = false;
    const auto run = [&](const Options& one) {
      is_gathered = one.gathered != nullptr;
      return ExitStatus::Complete;
    };
    CHECK(run_many(options, pids, run, console) == ExitStatus::Complete);
    return is_gathered;
  };
  CHECK(gathers("csv", {1, 2}, ""));
  CHECK(gathers("tsv", {1, 2}, ""));
  CHECK(gathers("openmetrics", {1, 2}, ""));
  CHECK_FALSE(gathers("json", {1, 2}, ""));
  CHECK_FALSE(gathers("csv", {1}, ""));
  CHECK(gathers("csv", {1}, "web-*"));  // the form must not depend on the number of processes
}

TEST_CASE("one page has the reports on all processes, and names those without one") {
  const TemporaryDirectory directory;
  const std::string file = directory.file("all.html");
  Options options;
  options.format = find_format("html");
  options.output = file;
  Console console(Console::Settings{.quiet = true});
  const auto run = [&](const Options& one) {
    CHECK(one.output.empty());
    if (one.pid == 2) return ExitStatus::NoHeap;
    std::string page(html_before_data());
    page += fmt::format(R"({{"process":{{"pid":{}}}}})", one.pid);
    one.gathered->push_back({.pid = one.pid, .text = page.append(html_behind_data())});
    return ExitStatus::Complete;
  };
  CHECK(run_many(options, {1, 2, 3}, run, console) == ExitStatus::NoHeap);
  std::ifstream in(file);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  CHECK(page.find(R"("pages":[{"process":{"pid":1}},{"process":{"pid":3}}])") != std::string::npos);
  CHECK(page.find(R"("failed":[{"pid":2,)") != std::string::npos);
  CHECK(page.find(R"("why":"no supported heap"})") != std::string::npos);
}

}  // namespace heapattach
