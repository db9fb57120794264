// The command line with a live process: subcommands, standard input, and the answers to typos.

#include <string>

#include <doctest/doctest.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

TEST_CASE("a subcommand answers as its option does, of a process and of standard input") {
  if (!is_target_built("still")) {
    print_skip("no libgc-dev");
    return;
  }
  LiveTarget target("still");
  const std::string pid = std::to_string(target.pid());
  const ToolRun option = run_tool({"-q", "--count", "-f", "tsv", pid});
  const ToolRun subcommand = run_tool({"-q", "count", "-f", "tsv", pid});
  CHECK(option.status == 0);
  CHECK(subcommand.status == 0);
  CHECK(subcommand.output == option.output);
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  CHECK(run_tool({"-q", "-o", file, pid}).status == 0);
  const ToolRun piped = run_in_shell("cat \"$1\" | \"$0\" -q count -f tsv -", {file});
  CHECK_MESSAGE(piped.status == 0, piped.errors);
  CHECK(piped.output == option.output);
  CHECK(run_in_shell("\"$0\" -q count -f tsv - < \"$1\"", {file}).output == option.output);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("an unknown word is answered with suggestions") {
  const ToolRun typo = run_tool({"cuont"});
  CHECK(typo.status == 2);
  CHECK(typo.errors.find("did you mean count?") != std::string::npos);
  const ToolRun name = run_tool({"--count", "my-web-server"});
  CHECK(name.status == 2);
  CHECK(name.errors.find("--name 'my-web-server'") != std::string::npos);
  CHECK(run_tool({"--count", "./not-there.jsonl"}).status == 1);
}

TEST_CASE("gzip on a terminal is a usage error in every report") {
  for (const char* report : {"count", "stacks", "diff"}) {
    const ToolRun run = run_in_shell(
        "command -v script >/dev/null || { echo skipped; exit; }; "
        "script -qec \"'$0' $1 -z 1 1\" /dev/null",
        {report});
    if (run.output.find("skipped") != std::string::npos) {
      print_skip("no script(1)");
      return;
    }
    CHECK(run.status == 2);
  }
}

}  // namespace heapattach
