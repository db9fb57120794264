// aarch64: refusals by name, before anything is changed.

#include <csignal>

#include <doctest/doctest.h>

#include "integration/child_process.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

TEST_CASE("a thread in streaming mode is not borrowed") {
  using namespace std::chrono_literals;
  const TemporaryDirectory directory;
  const std::string program = directory.file("streaming");
  const ToolRun compiled =
      run_in_shell("exec gcc -O1 -o \"$1\" \"$2\"", {program, CONSUMERS "/../arm64/streaming.c"});
  REQUIRE_MESSAGE(compiled.status == 0, compiled.errors);
  ChildProcess streaming({program});
  if (streaming.read_line(30s) != "ready") return print_skip("no SME");
  const std::string pid = std::to_string(streaming.pid());
  const ToolRun run = run_tool({"count", "--snapshot", "clone", pid});
  CHECK(run.status == 1);
  CHECK_MESSAGE(run.errors.find("computes with SVE or SME registers") != std::string::npos,
                run.errors);
  CHECK(run_tool({"count", "--snapshot", "freeze", pid}).status == 0);
  CHECK(harm_done_to(streaming.pid()) == "");
  streaming.signal(SIGKILL);
}

}  // namespace heapattach
