// Reports that would run our code in the process are refused by name on aarch64, before they change
// anything.

#include <doctest/doctest.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {

TEST_CASE("copies, calls and traces of a process are refused by name, and freezes are not") {
  LiveTarget target("known_live_set");
  const std::string pid = std::to_string(target.pid());
  const std::vector<std::vector<std::string>> refused{
      {"--count", "--snapshot", "clone", pid},
      {"--call", "getpid()", pid},
      {"--call", "getpid()", "--in-place", pid},
      {"trace", "--for", "1s", pid},
      {"leaks", "--heap", "both", "--snapshot", "clone", pid},
  };
  for (const std::vector<std::string>& arguments : refused) {
    const ToolRun run = run_tool(arguments);
    CHECK_MESSAGE(run.status == 1, arguments.front(), run.errors);
    CHECK_MESSAGE(
        run.errors.find("cannot run code in a process on aarch64 yet") != std::string::npos,
        run.errors);
  }
  // A limit that makes auto prefer a clone where one is possible.
  const ToolRun chosen = run_tool({"--count", "--snapshot", "auto", "--max-pause", "1", pid});
  CHECK_MESSAGE((chosen.status == 0 || chosen.status == 6), chosen.errors);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
