// --leaks --trace shows which code has allocated the leaked objects.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

// Runs `leaks --trace` while `work` uses the target, and ends the recording by Ctrl-C.
ToolRun leaks_while(const std::vector<std::string>& arguments, const std::function<void()>& work) {
  return run_while_tracing("leaks --trace 10m", "traces malloc", arguments, work);
}

// Whether a frame such as "work (/srv/app.c:12)" is of this function, in a file with this name.
bool is_in(std::string_view frame, std::string_view function, std::string_view file) {
  return frame.starts_with(fmt::format("{} (", function)) &&
         frame.find(fmt::format("/{}:", file)) != std::string_view::npos;
}

// The leaks whose roots this function has allocated, itself or in functions that it calls. The
// number of objects is an estimate.
struct Found {
  std::uint64_t objects = 0;
  std::uint64_t samples = 0;
  std::string frame;
};
Found found_in(const ToolRun& run, std::string_view function, std::string_view file) {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  INFO(run.output << run.errors);
  REQUIRE(parser.parse(run.output).get(json) == simdjson::SUCCESS);
  Found found;
  for (const auto root : json["roots"]) {
    for (const auto site : root["allocated_by"]) {
      for (const auto frame : site["frames"]) {
        if (!is_in(std::string_view{frame}, function, file)) continue;
        found.objects += std::uint64_t{site["objects"]};
        found.samples += std::uint64_t{site["samples"]};
        found.frame = std::string_view{frame};
        break;
      }
    }
  }
  return found;
}

void check_leaks_have_code(const std::string& program) {
  LiveTarget target(program, {"2"});
  constexpr std::uint64_t kBefore = 100;
  constexpr std::uint64_t kMeanwhile = 300;
  target.ask(fmt::format("leak {}", kBefore));
  const Traces before = lasting_traces(target);
  const ToolRun run =
      leaks_while({"--every", "2", "-f", "json", fmt::format("{}", target.pid())}, [&] {
        target.ask("run 200");
        target.ask(fmt::format("leak {}", kMeanwhile));
        while (target.ask()["rounds"] < 400) usleep(1000);
      });
  CHECK((run.status == 0 || run.status == 7));
  CHECK(target.ask()["bad"] == 0);
  CHECK(difference(before, lasting_traces(target)) == "");
  for (const char* place : {"make_lost", "make_lost_too"}) {
    const Found found = found_in(run, place, "malloc_sites.c");
    INFO(place << ": " << found.samples << '\n' << run.output << run.errors);
    // A full ring loses samples; a word that looks like an address may keep one or two.
    CHECK(found.samples <= kMeanwhile);
    if (run.status == 0) CHECK(found.samples + 3 >= kMeanwhile);
  }
  // Code whose objects are still used has leaked nothing, except for objects that are being moved.
  CHECK(found_in(run, "make_zeroed", "malloc_sites.c").samples < 5);
}

}  // namespace

TEST_CASE("what leaked during a trace has its code, and what leaked before has none") {
  for (const std::string program : {"malloc_sites", "malloc_sites_musl_static"}) {
    if (!is_target_built(program)) continue;
    CAPTURE(program);
    check_leaks_have_code(program);
  }
}

TEST_CASE("leaks are written as stacks and profiles of leaks alone") {
  LiveTarget target("malloc_sites", {"1"});
  const TemporaryDirectory directory;
  const std::string pid = fmt::format("{}", target.pid());
  const ToolRun run = leaks_while({"--every", "16", "-f", "folded", pid}, [&] {
    target.ask("run 500");
    target.ask("leak 50");
    while (target.ask()["rounds"] < 500) usleep(1000);
  });
  INFO(run.output << run.errors);
  CHECK(run.output.find("make_lost;") != std::string::npos);
  CHECK(run.output.find("make_plain") == std::string::npos);
}

TEST_CASE("two well-known leaks of C libraries are found with function and line by one command") {
  if (!is_target_built("leaking_libraries")) {
    return print_skip("OpenSSL's or libxml2's headers are not installed");
  }
  LiveTarget target("leaking_libraries");
  const std::string pid = fmt::format("{}", target.pid());
  const ToolRun run = leaks_while({"-f", "json", pid}, [&] {
    target.ask("connect 60");
    target.ask("parse 60");
  });
  CHECK(target.ask()["bad"] == 0);
  const Found certificates = found_in(run, "connect_once", "leaking_libraries.c");
  const Found contexts = found_in(run, "parse_page", "leaking_libraries.c");
  INFO(run.output << run.errors);
  CHECK(certificates.samples > 0);
  CHECK(contexts.samples > 0);
  // The context of libxml2 is one large block.
  CHECK(contexts.objects > 0);
  print_figure(fmt::format("leaks with code: {}, {}", certificates.frame, contexts.frame));
}

TEST_CASE("a heap that cannot be read is refused before anything is recorded") {
  LiveTarget own("allocates_itself");
  LiveTarget plain("allocates");
  const auto check_refused = [](const std::string& heap, pid_t pid, std::string_view words) {
    const ToolRun run = run_tool({"leaks", "--heap", heap, "--trace", "24h", std::to_string(pid)});
    CHECK(run.status == 5);
    CHECK_MESSAGE(run.errors.find(words) != std::string::npos, run.errors);
  };
  check_refused("malloc", own.pid(), "has a malloc of its own");
  check_refused("both", plain.pid(), "no collector found");
}

}  // namespace heapattach
