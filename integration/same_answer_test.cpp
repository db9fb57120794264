// Freeze, clone and the dump routine in a clone give the same objects and edges for a stopped
// service. For a busy service, each of the three is consistent.

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "integration/collector_dump.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

const std::vector<std::vector<std::string>> ways{
    {"--snapshot", "freeze", "-f", "gcgrph", "-o"},
    {"--snapshot", "clone", "-f", "gcgrph", "-o"},
    {"--inject", "--keep"},
};

std::string text_by(const std::vector<std::string>& way, const LiveTarget& target) {
  const TemporaryDirectory directory;
  std::vector<std::string> words = way;
  words.insert(words.end(), {directory.file("dump"), std::to_string(target.pid())});
  ToolRun run = run_tool(words);
  // A busy machine may not let its threads stop in time.
  constexpr int kTimeout = 6;
  for (int tries = 0; run.status == kTimeout && tries < 20; ++tries) run = run_tool(words);
  REQUIRE_MESSAGE(run.status == 0, way.front(), ": ", run.errors);
  return read_text(directory.file("dump"));
}

Dump dump_by(const std::vector<std::string>& way, const LiveTarget& target) {
  return read_dump(text_by(way, target), false);
}

std::string difference(const Dump& one, const Dump& other) {
  std::string text;
  for (const auto& [base, object] : one) {
    const auto found = other.find(base);
    if (found == other.end()) {
      text += fmt::format("{:#x} of {} bytes is missing; ", base, object.bytes);
    } else if (found->second.bytes != object.bytes || found->second.words != object.words ||
               found->second.is_atomic != object.is_atomic) {
      text += fmt::format("{:#x} differs; ", base);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("freeze, clone and dump routine give the same objects and edges") {
  if (!is_target_built("dumping")) return;
  LiveTarget target("dumping", {"1000"});
  const Dump frozen = dump_by(ways[0], target);
  CHECK(frozen.size() >= 2000);
  const Dump cloned = dump_by(ways[1], target);
  CHECK(difference(frozen, cloned) == "");
  CHECK(difference(cloned, frozen) == "");
  const Dump told = dump_by(ways[2], target);
  CHECK(difference(frozen, told) == "");
  // The collector lists slots that a thread keeps ready as alive. Nothing references them.
  for (const auto& [base, object] : frozen) {
    for (const auto& [offset, to] : object.words) {
      CHECK(frozen.contains(to) == told.contains(to));
    }
  }
  print_figure(
      fmt::format("{} objects and their edges by freeze, clone and routine; the routine "
                  "lists {} more, which a thread keeps ready",
                  frozen.size(), told.size() - frozen.size()));
  // A dump of all bytes has the same objects, and the same pointers in each.
  const std::vector<std::string> full{"--inject", "--values", "--keep"};
  const Dump bytes = read_dump(text_by(full, target), true);
  CHECK(bytes.size() == told.size());
  for (const auto& [base, object] : frozen) {
    const auto found = bytes.find(base);
    REQUIRE(found != bytes.end());
    CHECK(found->second.bytes == object.bytes);
    for (const auto& [offset, to] : object.words) CHECK(found->second.words.at(offset) == to);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("for a busy service, each way gives edges only to objects") {
  if (!is_target_built("dumping")) return;
  LiveTarget target("dumping", {"1000", "busy"});
  for (int i = 0; i < rounds(1, 50); ++i) {
    for (const auto& way : ways) {
      const Dump dump = dump_by(way, target);
      CHECK(dump.size() >= 2000);
      check_consistent(dump);
    }
  }
  CHECK(target.ask().at("length") == 1000);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
