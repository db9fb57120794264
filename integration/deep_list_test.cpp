// A file with a list as long as the heap: no report follows the list by recursion, and each reaches
// its end.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

// A snapshot of a list whose first link a global references.
void write_list(const std::string& name, int links) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(name.c_str(), "w"));
  REQUIRE(file != nullptr);
  fmt::print(file.get(), R"({{"record":"snapshot","version":1,"pid":7,"live_only":true}}
{{"record":"type","name":"Link","fields":[{{"name":"@next","offset":8,"bytes":8,"type":"Link"}}]}}
{{"record":"root","kind":"global","symbol":"FIRST","module":"app","address":"0x10","to":"0x10000"}}
)");
  for (int i = 0; i < links; ++i) {
    const int at = 0x10000 + 16 * i;
    const std::string next =
        i + 1 == links ? "" : fmt::format(R"(,"refs":{{"@next":"{:#x}"}})", at + 16);
    fmt::print(file.get(),
               "{{\"record\":\"object\",\"address\":\"{:#x}\",\"type\":\"Link\",\"bytes\":16{}}}\n",
               at, next);
  }
  fmt::print(file.get(),
             R"({{"record":"end","complete":true,"objects":{},"bytes":{},"roots":1,"skipped":0}})"
             "\n",
             links, 16L * links);
}

}  // namespace

TEST_CASE("every report handles a list as long as the heap") {
  const int links = rounds(50'000, 10'000'000);
  const TemporaryDirectory directory;
  const std::string file = directory.file("list.jsonl");
  write_list(file, links);
  const std::string last = fmt::format("{:#x}", 0x10000 + 16 * (links - 1));
  const std::string all = fmt::format("{}", 16L * links);
  struct Asked {
    std::vector<std::string> report;
    std::string answer;
  };
  const std::vector<Asked> questions = {
      {{"--count", "-f", "tsv"}, fmt::format("{}\t{}\tLink", links, all)},
      {{"--sizes"}, fmt::format("{}  {}  100.00", links, all)},
      {{"--sizes", "0x10000"}, all},
      {{"--why", last}, "FIRST"},
      {{"--suspects"}, all},
      {{"--graph", "Link", "--objects", "1", "--levels", "5"}, "Link"},
      {{"-f", "folded"}, "FIRST"},
      {{"-f", "heapsnapshot"}, "Link"},
      {{"-f", "svg"}, "Link"},
      {{"--diff", file}, all}};
  for (const Asked& question : questions) {
    std::vector<std::string> arguments = question.report;
    arguments.push_back(file);
    CAPTURE(arguments);
    const ToolRun run = run_tool(arguments);
    CAPTURE(run.errors);
    CHECK(run.status == 0);
    const bool is_told = run.output.find(question.answer) != std::string::npos;
    CHECK(is_told);
  }
}

}  // namespace heapattach
