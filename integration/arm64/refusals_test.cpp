// Traces are refused by name on aarch64, before they change anything.

#include <doctest/doctest.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {

TEST_CASE("traces of a process are refused by name") {
  LiveTarget target("known_live_set");
  const std::string pid = std::to_string(target.pid());
  const std::vector<std::vector<std::string>> refused{
      {"trace", "--for", "1s", pid},
      {"leaks", "--heap", "both", "--trace", "1s", pid},
  };
  for (const std::vector<std::string>& arguments : refused) {
    const ToolRun run = run_tool(arguments);
    CHECK_MESSAGE(run.status == 1, arguments.front(), run.errors);
    CHECK_MESSAGE(run.errors.find("cannot trace a process on aarch64 yet") != std::string::npos,
                  run.errors);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
