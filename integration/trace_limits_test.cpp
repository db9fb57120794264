// A trace keeps its promises to the user and to the program when its time is over, when nobody
// reads its output, and after it was killed.

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/trace/reader.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

bool has_tracer(pid_t pid) {
  return traces_of(pid).mappings.find(trace::kRingName) != std::string::npos;
}

// Puts a recorder into the target and is killed.
void trace_and_die(HookedTarget& tracer) {
  const pid_t tool = fork();
  if (tool == 0) {
    const auto control = PtraceControl::open(*tracer.opened.process);
    if (!control) _exit(1);
    const auto installed =
        trace::Installation::make(*tracer.opened.process, **control, tracer.hooks, {});
    if (!installed) _exit(2);
    raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(tool, &status, 0) == tool);
  REQUIRE(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("a program that records as fast as it can does not keep a trace from ending") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"8", "free"});
  REQUIRE(is_working(target));
  const auto begin = std::chrono::steady_clock::now();
  const ToolRun run = run_tool({"trace", "--for", "300ms", "--every", "1", "--timeout", "3",
                                "--no-mark", "-f", "json", fmt::format("{}", target.pid())});
  const auto took = std::chrono::steady_clock::now() - begin;
  INFO(run.errors);
  CHECK((run.status == 0 || run.status == 6 || run.status == 7));
  // It takes 4.3 s, and the time that the guardian adds on a busy machine.
  CHECK(took < 10s);
  print_figure(fmt::format("a trace of 0.3 s with --timeout 3 took {:.1f} s",
                           std::chrono::duration<double>(took).count()));
  CHECK_FALSE(has_tracer(target.pid()));
  CHECK(is_working(target));
}

TEST_CASE("a reader that stops reading does not keep the recorder in the process") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1", "free"});
  REQUIRE(is_working(target));
  const TemporaryDirectory directory;
  std::string streams;
  SUBCASE("of the report") {
    streams = "2>/dev/null >&3";
  }
  SUBCASE("of the messages") {
    streams = "2>&3 >/dev/null";
  }
  const ToolRun run = run_in_shell(
      "mkfifo \"$2\"; exec 3<>\"$2\"; "
      "dd if=/dev/zero of=/dev/fd/3 bs=4096 count=4096 oflag=nonblock 2>/dev/null; "
      "\"$0\" trace -v --for 300ms --timeout 2 --no-mark -f jsonl -o - \"$1\" " +
          streams,
      {fmt::format("{}", target.pid()), directory.file("pipe")});
  CHECK(run.status == 6);
  CHECK_FALSE(has_tracer(target.pid()));
  CHECK(is_working(target));
}

TEST_CASE("any report that stops the process removes the recorder of a killed run") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1", "free"});
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  HookedTarget tracer(target.pid());
  trace_and_die(tracer);
  REQUIRE(has_tracer(target.pid()));
  const ToolRun run = run_tool({"-q", "--count", fmt::format("{}", target.pid())});
  INFO(run.errors);
  CHECK_FALSE(has_tracer(target.pid()));
  CHECK(eventually(10s, [&] {
    static_cast<void>(run_tool({"-q", "--count", fmt::format("{}", target.pid())}));
    return difference(before, lasting_traces(target)).empty();
  }));
  CHECK(is_working(target));
}

TEST_CASE("another report leaves the recorder of a live run in place") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1", "free"});
  HookedTarget tracer(target.pid());
  const auto installed = tracer.install();
  REQUIRE(installed);
  const ToolRun run = run_tool({"-q", "--count", fmt::format("{}", target.pid())});
  CHECK((*installed)->is_there());
  CHECK(has_tracer(target.pid()));
  CHECK((*installed)->leave());
  CHECK(is_working(target));
}

TEST_CASE("a recorder whose named reader does not read it was left by a killed run") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1", "free"});
  REQUIRE(is_working(target));
  HookedTarget tracer(target.pid());
  trace_and_die(tracer);
  const auto map = tracer.opened.process->maps().value();
  const auto remains = trace::find_mapped(map, tracer.control->memory());
  REQUIRE(remains.head);
  const Fd mem = tracer.opened.process->open_file("mem", O_RDWR).value();
  const std::uint64_t forged[] = {1, trace::start_of(1)};
  REQUIRE(pwrite(mem.get(), forged, sizeof forged,
                 static_cast<off_t>(remains.code.start.value + offsetof(trace::BlobHead, tool))) ==
          sizeof forged);
  const auto installed = tracer.install();
  REQUIRE_MESSAGE(installed, (installed ? "" : installed.error().text()));
  CHECK((*installed)->leave());
  CHECK_FALSE(has_tracer(target.pid()));
  CHECK(is_working(target));
}

TEST_CASE("a trace of a program that ends says how it ended") {
  if (!is_target_built(kAllocating)) return;
  std::string last;
  std::string words;
  SUBCASE("with a status") {
    last = "quit 3";
    words = "the program exited with status 3";
  }
  SUBCASE("by a signal") {
    last = "raise 15";
    words = "the program was killed by SIGTERM";
  }
  const TemporaryDirectory directory;
  const ToolRun run = run_in_shell(
      "(until grep -qE 'traces GC_|^heapattach: ' \"$3\"; do sleep 0.05; done; "
      "printf 'run 50\\nuntil 50\\n%s\\n' \"$4\") "
      "| \"$0\" trace -v -f json -o \"$2\" -- \"$1\" 1 2>\"$3\"",
      {target_path(kAllocating), directory.file("trace.json"), directory.file("steps"), last});
  const std::string steps = read_text(directory.file("steps"));
  INFO(steps);
  CHECK((run.status == 0 || run.status == 7));
  CHECK(steps.find(words) != std::string::npos);
}

TEST_CASE("threads that begin and end all the time do not disturb a trace") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1", "free", "spawn"});
  REQUIRE(is_working(target));
  for (int i = 0; i < rounds(4, 100); ++i) {
    const ToolRun run = run_tool(
        {"trace", "--for", "100ms", "--no-mark", "-f", "json", fmt::format("{}", target.pid())});
    INFO(run.errors);
    CHECK((run.status == 0 || run.status == 7));
  }
  CHECK(is_working(target));
}

}  // namespace heapattach
