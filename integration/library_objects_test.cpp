// The allocations that the C and C++ libraries make for themselves have names, if the libraries'
// own data prove what they are.

#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

// The type of the object at an address, in a count of one.
std::string type_at(const LiveTarget& target, std::int64_t address) {
  const ToolRun run =
      run_tool({"--sizes", fmt::format("{:#x}", address), std::to_string(target.pid())});
  CHECK_MESSAGE(run.status == 0, run.errors);
  const std::string line = run.output.substr(0, run.output.find('\n'));
  const std::size_t space = line.find(' ');
  return space == std::string::npos ? line : line.substr(space + 1);
}

// The row of a count that ends in `type`: its objects and bytes.
std::pair<std::uint64_t, std::uint64_t> row_of(const std::string& counts, const std::string& type) {
  std::istringstream lines(counts);
  for (std::string line; std::getline(lines, line);) {
    if (!line.ends_with("  " + type)) continue;
    std::istringstream words(line);
    std::uint64_t rank = 0;
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    words >> rank >> objects >> bytes;
    return {objects, bytes};
  }
  return {};
}

}  // namespace

TEST_CASE("what the libraries allocate for themselves has a name") {
  if (!is_target_built("library_objects")) return;
  LiveTarget target("library_objects");
  const Answer& at = target.greeting();
  CHECK(type_at(target, at.at("file")) == "FILE");
  CHECK(type_at(target, at.at("buffer")) == "(buffer of FILE)");
  CHECK(type_at(target, at.at("address")) == "struct addrinfo");
  CHECK(type_at(target, at.at("library")) == "(link_map of the loader)");
  CHECK(type_at(target, at.at("list")) == "(list of the environment)");
  CHECK(type_at(target, at.at("variable")) == "(variable of the environment)");
  const ToolRun run = run_tool({"--count", std::to_string(target.pid())});
  const auto [pools, pool_bytes] = row_of(run.output, "(emergency pool of libstdc++)");
  CHECK_MESSAGE(pools == 1, run.output);
  CHECK(pool_bytes > 60'000);
  CHECK(row_of(run.output, "(buffer of stdout)").first == 1);
  CHECK(row_of(run.output, "(dtv of a thread)").first == 1);
  CHECK(row_of(run.output, "(path of the loader)").first == 1);
  const ToolRun redacted = run_tool({"--count", "--redact", "full", std::to_string(target.pid())});
  for (const char* const name :
       {"(emergency pool of libstdc++)", "(dtv of a thread)", "FILE", "struct addrinfo"}) {
    CHECK(row_of(redacted.output, name).first == 1);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("objects that only look like the libraries' keep their own names") {
  if (!is_target_built("library_objects")) return;
  LiveTarget target("library_objects", {"none"});
  const Answer& at = target.greeting();
  for (const char* const object : {"copy", "pool_like", "own_buffer"}) {
    const std::string type = type_at(target, at.at(object));
    CAPTURE(object);
    CAPTURE(type);
    CHECK(type.find(" of ") == std::string::npos);
  }
  const ToolRun run = run_tool({"--count", std::to_string(target.pid())});
  CHECK_MESSAGE(row_of(run.output, "(emergency pool of libstdc++)").first == 1, run.output);
  CHECK(row_of(run.output, "(list of the environment)").first == 0);
}

}  // namespace heapattach
