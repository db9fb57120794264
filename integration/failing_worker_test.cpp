// If one of several threads that wait for each other runs out of memory, the others end, too, with
// an error, and the target does not notice. Only in builds with HEAPATTACH_FAULT_POINTS.

#include <cerrno>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "attach/base/fault_points.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

constexpr int kMostWorkers = 200;  // more than one count starts

ToolRun count_with_fault(const LiveTarget& target, FaultPoint point, int hit) {
  return run_in_shell(fmt::format("HEAPATTACH_FAULT={}:{}:{} exec \"$0\" --count \"$@\"",
                                  static_cast<unsigned>(point), ENOMEM, hit),
                      {std::to_string(target.pid())});
}

}  // namespace

TEST_CASE("whichever worker fails, all others end, with an error") {
  if (!is_target_built("still")) return;
  LiveTarget target("still", {"20000"});
  int failed = 0;
  ToolRun run;
  while (failed < kMostWorkers) {
    run = count_with_fault(target, FaultPoint::Work, failed + 1);
    if (run.status == 0) break;
    CAPTURE(failed);
    CHECK(run.status == 1);
    CHECK_MESSAGE(run.errors.find("out of memory") != std::string::npos, run.errors);
    REQUIRE(harm_done_to(target.pid()) == "");
    ++failed;
  }
  CHECK(run.status == 0);
  CHECK(failed >= 8);
  CHECK_MESSAGE(run.output.find("struct link") != std::string::npos, run.output);
}

TEST_CASE("whichever worker fails to start, the others do its work") {
  if (!is_target_built("still")) return;
  LiveTarget target("still", {"20000"});
  const ToolRun whole = run_tool({"--count", std::to_string(target.pid())});
  REQUIRE(whole.status == 0);
  // Worker 1 is the tracing thread, without which there is no result.
  for (const int hit : {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15}) {
    CAPTURE(hit);
    const ToolRun run = count_with_fault(target, FaultPoint::StartThread, hit);
    CHECK_MESSAGE(run.status == 0, run.errors);
    CHECK(run.output == whole.output);
  }
}

}  // namespace heapattach
