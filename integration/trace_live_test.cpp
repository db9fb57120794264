// The table of a trace on a terminal, and the limit on the work for it.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

// The width in columns of the widest line in the last table that was drawn completely.
std::size_t widest_line(const std::string& screen) {
  const auto end = screen.rfind("\r\x1b[");
  const auto begin = end == std::string::npos ? end : screen.rfind("\r\x1b[", end - 1);
  if (begin == std::string::npos) return 0;
  std::size_t widest = 0;
  std::size_t line = 0;
  bool is_escape = false;
  for (const char letter : screen.substr(begin, end - begin)) {
    if (letter == '\x1b') is_escape = true;
    const bool is_shown = !is_escape && letter >= ' ';
    if (is_escape && std::isalpha(static_cast<unsigned char>(letter)) != 0) is_escape = false;
    line = letter == '\n' || letter == '\r' ? 0 : line + (is_shown ? 1 : 0);
    widest = std::max(widest, line);
  }
  return widest;
}

}  // namespace

TEST_CASE("a live table fits its terminal, also after this has become narrower") {
  if (!is_target_built(kAllocating)) return print_skip("libgc is not installed");
  if (run_in_shell("command -v script", {}).status != 0) return print_skip("script is not here");
  LiveTarget target(kAllocating, {"1", "free"});
  REQUIRE(is_working(target));
  const TemporaryDirectory directory;
  const std::string screen = directory.file("screen");
  // After each change of size, two tables are drawn, because the first one may have begun before
  // it.
  const ToolRun run = run_in_shell(
      "set -m; script -qfec \"stty rows 40 cols 100; exec '$0' trace --live --no-mark --for 5m "
      "--by function "
      "-o '$2/trace.txt' $1\" \"$2/screen\" </dev/null >/dev/null & script=$!; "
      "tables() { grep -o 'tracing, ' \"$2/screen\" | wc -l; }; "
      "more() { want=$(($(tables \"$@\") + 3)); until (($(tables \"$@\") >= want)) || "
      "! kill -0 $script; do sleep 0.1; done; }; "
      "more \"$@\"; cp \"$2/screen\" \"$2/wide\"; tool=$(pgrep -P $script); "
      "stty -F $(readlink /proc/$tool/fd/2) rows 12 cols 41; "
      "more \"$@\"; cp \"$2/screen\" \"$2/narrow\"; kill -INT $tool; wait $script",
      {fmt::format("{}", target.pid()), directory.file("")});
  INFO(run.errors << read_text(screen));
  CHECK(widest_line(read_text(directory.file("wide"))) > 60);
  const std::size_t narrow = widest_line(read_text(directory.file("narrow")));
  CHECK(narrow > 20);
  CHECK(narrow <= 41);
  CHECK(target.ask()["bad"] == 0);
}

TEST_CASE("a worker that hangs while a trace is shown is given up, and the trace goes on") {
  if (!is_long_run()) return;  // it takes 8 s
  if (!is_target_built(kAllocating)) return print_skip("libgc is not installed");
  if (run_in_shell("command -v script", {}).status != 0) return print_skip("script is not here");
  LiveTarget target(kAllocating, {"1", "free"});
  REQUIRE(is_working(target));
  const TemporaryDirectory directory;
  // Stops the first worker that the tool starts after its first table, and waits for its end.
  const ToolRun run = run_in_shell(
      "set -m; script -qfec \"exec '$0' trace --live --no-mark --every 64k --for 5m --by function "
      "-o '$2/trace.txt' $1\" \"$2/screen\" </dev/null >/dev/null & script=$!; "
      "tables() { grep -o 'tracing, ' \"$1\" | wc -l; }; "
      "until grep -q make_small \"$2/screen\" || ! kill -0 $script; do sleep 0.1; done; "
      // The child of the first process does the work.
      "tool=$(pgrep -P $script); work=$(pgrep -P $tool); "
      "worker=; while [[ -z $worker ]] && kill -0 $script; do "
      "for child in $(pgrep -P $work); do kill -STOP $child && "
      "grep -q 'State:.T' /proc/$child/status && worker=$child && break; done 2>/dev/null; done; "
      "begin=$SECONDS; while kill -0 $worker 2>/dev/null; do sleep 0.1; done; "
      "echo gave up after $((SECONDS - begin)); "
      "seen=$(tables \"$2/screen\"); "
      "until (($(tables \"$2/screen\") >= seen + 2)) || ! kill -0 $script; do sleep 0.1; done; "
      "kill -INT $tool; wait $script",
      {fmt::format("{}", target.pid()), directory.file("")});
  INFO(run.output << run.errors);
  constexpr std::string_view kAfter = "gave up after ";
  const auto after = run.output.find(kAfter);
  REQUIRE(after != std::string::npos);
  // After 20 s without a reader, the tracer in the process would end the trace.
  CHECK(std::stoi(run.output.substr(after + kAfter.size())) < 20);
  const std::string table = read_text(directory.file("trace.txt"));
  CHECK(table.find("make_small") != std::string::npos);
  CHECK(table.find("nothing read the trace") == std::string::npos);
  CHECK(target.ask()["bad"] == 0);
}

}  // namespace heapattach
