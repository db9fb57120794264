// --suspects --trace shows what grows, and which code adds to it.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

constexpr const char* kPrograms[] = {"additions", "additions_collected", "additions_musl_static"};

// Runs `suspects --trace` while `work` uses the target, and ends the recording by Ctrl-C.
ToolRun suspects_while(const std::vector<std::string>& arguments,
                       const std::function<void()>& work) {
  return run_while_tracing("suspects --trace 10m", "traces ", arguments, work);
}

simdjson::dom::element growth_in(simdjson::dom::parser& parser, const ToolRun& run) {
  INFO(run.output << run.errors);
  simdjson::dom::element json;
  REQUIRE(parser.parse(run.output).get(json) == simdjson::SUCCESS);
  simdjson::dom::element growth;
  REQUIRE(json["growth"].get(growth) == simdjson::SUCCESS);
  return growth;
}

// The samples that were taken in one function, summed up over everything that grows.
struct Added {
  std::uint64_t samples = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};
Added added_by(simdjson::dom::element growth, std::string_view function) {
  Added added;
  for (const auto holder : growth["holders"]) {
    for (const auto site : holder["allocated_by"]) {
      const std::string_view frame = *simdjson::dom::array(site["frames"]).begin();
      if (!frame.starts_with(fmt::format("{} (", function))) continue;
      added.samples += std::uint64_t{site["samples"]};
      added.objects += std::uint64_t{site["objects"]};
      added.bytes += std::uint64_t{site["bytes"]};
    }
  }
  return added;
}

void check_additions(const std::string& program) {
  LiveTarget target(program);
  const Traces before = lasting_traces(target);
  const std::int64_t kept_before = target.ask("replace 1")["sessions"];
  std::int64_t kept = 0;
  const ToolRun run =
      suspects_while({"--every", "2", "-f", "json", fmt::format("{}", target.pid())}, [&] {
        target.ask("replace 300");
        kept = target.ask("add 400")["sessions"] - kept_before;
      });
  CAPTURE(run.output);
  CAPTURE(run.errors);
  CHECK(run.status == 0);
  CHECK(difference(before, lasting_traces(target)) == "");
  simdjson::dom::parser parser;
  const auto growth = growth_in(parser, run);
  REQUIRE(kept == 400);
  const Added sessions = added_by(growth, "open_session");
  const Added names = added_by(growth, "name_session");
  const auto truth = static_cast<std::uint64_t>(kept);
  CHECK(sessions.samples == truth);
  CHECK(sessions.objects == truth);
  CHECK(sessions.bytes >= truth * 216);
  CHECK(names.samples == truth);
  CHECK(names.bytes == truth * 64);
  // The ring of requests has as many as before, although most of them are new.
  CHECK(added_by(growth, "make_request").samples == 0);
  CHECK(added_by(growth, "fill_ballast").samples == 0);
}

}  // namespace

TEST_CASE("what grows during a trace has the code that adds to it, and what is replaced has not") {
  for (const std::string program : kPrograms) {
    if (!is_target_built(program)) {
      print_skip(fmt::format("{} was not built", program));
      continue;
    }
    CAPTURE(program);
    check_additions(program);
  }
}

TEST_CASE("where nothing grows during a trace, suspects say so") {
  LiveTarget target("additions");
  const ToolRun run = suspects_while({"--every", "64", fmt::format("{}", target.pid())},
                                     [&] { target.ask("replace 1000"); });
  CAPTURE(run.output);
  CHECK(run.status == 0);
  CHECK(run.output.starts_with("nothing grew in "));
  CHECK(run.output.find("make_request") == std::string::npos);
  CHECK(run.output.find("one sample per 64 bytes; 0 samples are in what grew") !=
        std::string::npos);
}

TEST_CASE("what grows during a trace is shown with function and line") {
  LiveTarget target("additions");
  const ToolRun run =
      suspects_while({fmt::format("{}", target.pid())}, [&] { target.ask("add 20000"); });
  CAPTURE(run.output);
  CHECK(run.status == 0);
  CHECK(run.output.find("bytes came and stayed") != std::string::npos);
  CHECK(run.output.find("allocated here: about ") != std::string::npos);
  CHECK(run.output.find("open_session (") != std::string::npos);
  CHECK(run.output.find("additions.c:") != std::string::npos);
}

TEST_CASE("what a trace has recorded keeps nothing alive") {
  LiveTarget target("adds");
  const ToolRun run =
      run_tool({"suspects", "--trace", "1s", "--every", "64", fmt::format("{}", target.pid())});
  INFO(run.output << run.errors);
  CHECK(run.status == 0);
  CHECK(run.output.find("through global newest of ") != std::string::npos);
  CHECK(run.output.find("(shared memory)") == std::string::npos);
}

}  // namespace heapattach
