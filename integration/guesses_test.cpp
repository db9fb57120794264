// If only the size of objects is known, a guess at their struct is shown, but never as their type.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

// The JSON of a type's row in a count.
std::string row_of(const std::string& counts, const std::string& type) {
  const std::size_t at = counts.find(fmt::format("{{\"type\":\"{}\"", type));
  return at == std::string::npos ? "" : counts.substr(at, counts.find('}', at) - at);
}

bool has_guess(const std::string& row) {
  return row.find("\"guess\"") != std::string::npos;
}

constexpr const char* kGuess = R"("guess":"struct conn")";

}  // namespace

TEST_CASE("only a struct whose size no other has, and whose pointers fit, is guessed") {
  LiveTarget target("guessed");
  const std::string pid = std::to_string(target.pid());
  const std::string counts = run_tool({"count", "-f", "json", pid}).output;
  INFO(counts);
  CHECK(row_of(counts, "(104 bytes)").find(kGuess) != std::string::npos);
  CHECK_FALSE(row_of(counts, "(200 bytes)").empty());
  CHECK_FALSE(has_guess(row_of(counts, "(200 bytes)")));  // two structs have that size
  CHECK_FALSE(row_of(counts, "(504 bytes)").empty());
  CHECK_FALSE(has_guess(row_of(counts, "(504 bytes)")));  // these objects are texts
  const std::string table = run_tool({"count", pid}).output;
  INFO(table);
  CHECK(table.find("guess  type\n") < table.find('\n'));
  CHECK(table.find("struct conn?  (104 bytes)\n") != std::string::npos);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a guess is part of snapshots, leaks and the diagnosis, and is redacted") {
  const TemporaryDirectory directory;
  const std::string saved = directory.file("heap.jsonl");
  LiveTarget target("guessed");
  const std::string pid = std::to_string(target.pid());
  REQUIRE(run_tool({"-o", saved, pid}).status == 0);
  const std::string counts = run_tool({"count", "-f", "json", saved}).output;
  CHECK(row_of(counts, "(104 bytes)").find(kGuess) != std::string::npos);
  const std::string leaks = run_tool({"leaks", "-f", "json", pid}).output;
  INFO(leaks);
  CHECK(row_of(leaks, "(104 bytes)").find(kGuess) != std::string::npos);
  CHECK(row_of(leaks, "(56 bytes)").find(R"("guess":"struct item")") != std::string::npos);
  const std::string hidden = run_tool({"count", "-f", "json", "--redact", "full", pid}).output;
  INFO(hidden);
  CHECK(hidden.find("(104 bytes)") != std::string::npos);
  CHECK(hidden.find("conn") == std::string::npos);
}

TEST_CASE("nothing is guessed where sizes are not rounded as glibc rounds them") {
  if (!is_target_built("guessed_musl")) return print_skip("no musl-gcc");
  LiveTarget target("guessed_musl");
  const ToolRun counts = run_tool({"count", "-f", "json", std::to_string(target.pid())});
  INFO(counts.output, counts.errors);
  CHECK_FALSE(row_of(counts.output, "(200 bytes)").empty());
  CHECK_FALSE(has_guess(counts.output));
}

}  // namespace heapattach
