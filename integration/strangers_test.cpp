// Third-party programs that use the collector: the counts add up to the collector's numbers.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/other_releases.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using std::chrono::seconds;

// The releases that were tried.
const std::vector<std::string> kGuile{"3.0.8", "3.0.10"};
const std::vector<std::string> kEcl{"21.2.1"};
const std::vector<std::string> kW3m{"0.5.3"};

struct Totals {
  std::uint64_t objects = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t heap_bytes = 0;
  std::uint64_t types = 0;
};

// The totals of a count. None if the release was not tried and is refused. The count of such a
// release may also be partial, but must still add up.
std::optional<Totals> count_of(pid_t pid, const Release& release) {
  const ToolRun run = run_tool({"--count", "-f", "json", fmt::format("{}", pid)});
  INFO(run.errors);
  if (!release.is_tried && run.status == 5) {
    print_untried(release, run.errors);
    return std::nullopt;
  }
  const bool may_be_partial =
      !release.is_tried && run.errors.find("partial: ") != std::string::npos;
  REQUIRE((run.status == 0 || (may_be_partial && run.status == 7)));
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(run.output);
  const auto number = [&root](const char* key) { return std::uint64_t{root[key]}; };
  Totals totals;
  totals.objects = number("objects");
  totals.used_bytes = number("bytes") + number("unreachable_bytes");
  totals.free_bytes = number("free_bytes");
  totals.heap_bytes = number("heap_bytes");
  totals.types = simdjson::dom::array(root["types"]).size();
  std::uint64_t objects = 0;
  for (const simdjson::dom::element row : root["types"]) {
    objects += std::uint64_t{row["objects"]};
  }
  CHECK(objects == totals.objects);
  return totals;
}

void check_adds_up(const Totals& totals) {
  CHECK(totals.objects > 100);
  CHECK(totals.types > 0);
  CHECK(totals.used_bytes + totals.free_bytes == totals.heap_bytes);
}

// The first of `paths` that exists; if none does, prints that and returns an empty path.
std::string find_program(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  print_skip(paths.front() + " is not installed");
  return {};
}

}  // namespace

TEST_CASE("guile's heap adds up, and has the size that guile reports") {
  const std::string guile = find_program({"/usr/bin/guile", "/usr/bin/guile-3.0"});
  if (guile.empty()) return;
  const Release release = release_of("guile", {guile, "--version"}, kGuile);
  ChildProcess child({guile, "--no-auto-compile", "-c",
                      "(begin (define kept (iota 100000)) (gc)"
                      " (let loop ((sum 0))"
                      "  (display (if (= sum 0) (assq-ref (gc-stats) 'heap-size) sum))"
                      "  (newline) (force-output)"
                      "  (loop (if (eq? (read) 'size) 0 (length kept)))))"});
  const auto size = [&] {
    const std::optional<std::string> line = child.read_line(seconds(60));
    REQUIRE(line.has_value());
    return *line;
  };
  // Printing the size may need more memory than the heap has; then the next size differs.
  std::string before = size();
  for (int i = 0;; ++i) {
    const auto totals = count_of(child.pid(), release);
    if (!totals) return;
    check_adds_up(*totals);
    CHECK(totals->objects > 100000);
    child.send_line("size");
    const std::string after = size();
    if (after == before) CHECK(fmt::format("{}", totals->heap_bytes) == after);
    if (after == before) break;
    REQUIRE(i < 20);
    before = after;
  }
  child.send_line("length");
  CHECK(child.read_line(seconds(20)) == "100000");
}

TEST_CASE("ecl's heap adds up") {
  const std::string ecl = find_program({"/usr/bin/ecl"});
  if (ecl.empty()) return;
  const Release release = release_of("ecl", {ecl, "--version"}, kEcl);
  ChildProcess child({ecl, "--norc", "--eval",
                      "(let ((kept (make-list 50000)))"
                      " (format t \"~%made~%\") (finish-output) (read-line)"
                      " (format t \"~a~%\" (length kept)) (finish-output) (quit))"});
  for (;;) {
    const std::optional<std::string> line = child.read_line(seconds(60));
    REQUIRE(line.has_value());
    if (*line == "made") break;
  }
  const auto totals = count_of(child.pid(), release);
  if (!totals) return;
  check_adds_up(*totals);
  CHECK(totals->objects > 50000);
  child.send_line("go on");
  CHECK(child.read_line(seconds(20)) == "50000");
}

// ecl allocates arrays with GC_malloc_ignore_off_page, which ends in a jump to another traced
// function.
TEST_CASE("a trace of ecl adds up to what the collector allocated") {
  const std::string ecl = find_program({"/usr/bin/ecl"});
  if (ecl.empty()) return;
  const Release release = release_of("ecl", {ecl, "--version"}, kEcl);
  ChildProcess child({ecl, "--norc", "--eval",
                      "(progn (format t \"~%made~%\") (finish-output)"
                      " (loop (dotimes (i 200) (make-array 20)) (sleep 0.001)))"});
  for (;;) {
    const std::optional<std::string> line = child.read_line(seconds(60));
    REQUIRE(line.has_value());
    if (*line == "made") break;
  }
  constexpr double kEvery = 65536;
  const ToolRun run = run_tool({"-q", "trace", "--for", "2s", "--every", "64k", "--no-mark", "-f",
                                "json", fmt::format("{}", child.pid())});
  INFO(run.output << run.errors);
  if (!release.is_tried && run.status == 5) return print_untried(release, run.errors);
  REQUIRE((run.status == 0 || run.status == 7));  // a busy machine loses samples
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(run.output);
  double traced = kEvery * static_cast<double>(std::uint64_t{root["drops"]});
  for (const auto row : root["rows"]) traced += static_cast<double>(std::uint64_t{row["bytes"]});
  const auto counted = static_cast<double>(std::uint64_t{root["collector_bytes"]});
  // Five times the expected error of an estimate from so many samples.
  CHECK(counted > 10 * kEvery);
  CHECK(std::abs(traced - counted) < counted * 0.1 + 5 * std::sqrt(counted * kEvery));
}

TEST_CASE("w3m's heap adds up") {
  const std::string w3m = find_program({"/usr/bin/w3m"});
  if (w3m.empty()) return;
  const Release release = release_of("w3m", {w3m, "-version"}, kW3m);
  const TemporaryDirectory home;
  ::setenv("HOME", home.path().c_str(), 1);
  ChildProcess child({w3m, "-dump", "-T", "text/html"});
  for (int line = 0; line < 2000; ++line) {
    child.send_line(fmt::format("<p>paragraph {} <a href=\"x\">of many</a>", line));
  }
  // The program has read this much, and waits for the rest of its page.
  const std::string stat = fmt::format("/proc/{}/stat", child.pid());
  const auto waits = [&stat] { return read_text(stat).find(") S ") != std::string::npos; };
  REQUIRE(eventually(seconds(20), waits));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  REQUIRE(eventually(seconds(20), waits));
  const auto totals = count_of(child.pid(), release);
  if (!totals) return;
  check_adds_up(*totals);
  CHECK(child.is_running());
}

TEST_CASE("roots from a program's own hook are not silently ignored") {
  if (!is_target_built("root_hook")) return;
  LiveTarget hooked("root_hook");
  const ToolRun run = run_tool({"--count", fmt::format("{}", hooked.pid())});
  CHECK(run.status == 7);
  CHECK(run.errors.find("push_kept of target_root_hook") != std::string::npos);
  const ToolRun check = run_tool({"--check", fmt::format("{}", hooked.pid())});
  CHECK(check.status == 7);
  CHECK(check.output.find("push_kept of target_root_hook") != std::string::npos);
  CHECK(check.output.find("but it would be partial") != std::string::npos);
  // malloc's heap does not depend on the collector's roots: all references to it are in memory.
  CHECK(run_tool({"--count", "--heap", "malloc", fmt::format("{}", hooked.pid())}).status == 0);
  LiveTarget without("root_hook", {"--default"});
  CHECK(run_tool({"--count", fmt::format("{}", without.pid())}).status == 0);
  CHECK(run_tool({"--check", fmt::format("{}", without.pid())}).status == 0);
}

// In this program, the collector's own function for more roots has no name, and is in the program's
// file.
TEST_CASE("the collector's own hook for roots is known without its name") {
  if (!is_target_built("root_hook_exported")) return;
  LiveTarget hooked("root_hook_exported");
  const ToolRun run = run_tool({"--count", fmt::format("{}", hooked.pid())});
  CHECK(run.status == 7);
  CHECK(run.errors.find("through the function at 0x") != std::string::npos);
  LiveTarget without("root_hook_exported", {"--default"});
  const ToolRun healthy = run_tool({"--count", fmt::format("{}", without.pid())});
  CAPTURE(healthy.errors);
  CHECK(healthy.status == 0);
}

// Only the collector's code shows which function it would call by default.
TEST_CASE("a program's own hook for roots is known without any symbols") {
  for (const char* name : {"root_hook_stripped", "root_hook_alone"}) {
    CAPTURE(name);
    if (!is_target_built(name)) continue;
    LiveTarget hooked(name);
    const ToolRun run = run_tool({"--count", fmt::format("{}", hooked.pid())});
    CAPTURE(run.errors);
    CHECK(run.status == 7);
    CHECK(run.errors.find("pushes more roots through a function of its own") != std::string::npos);
    LiveTarget without(name, {"--default"});
    const ToolRun healthy = run_tool({"--count", fmt::format("{}", without.pid())});
    CAPTURE(healthy.errors);
    CHECK(healthy.status == 0);
  }
}

}  // namespace heapattach
