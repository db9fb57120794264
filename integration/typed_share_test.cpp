// How much of a heap has a type: nearly all of it with debug information or with the compiler's
// type table. Without either, the figures show what is missing.

#include <algorithm>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/typed_truth.h"

namespace heapattach {
namespace {

constexpr double kWanted = 95;  // per cent of the live bytes
constexpr std::size_t kShown = 3;

struct Share {
  double percent = 0;
  std::string text;  // "97.1 % of 1234 KiB; (unknown) 12 KiB"
};

Share share_of(const LiveTarget& target, std::vector<std::string> options = {}) {
  for (const char* option : {"--count", "-f", "json"}) options.emplace_back(option);
  options.push_back(fmt::format("{}", target.pid()));
  const ToolRun run = run_tool(options);
  INFO(run.errors);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const simdjson::dom::object counts = parser.parse(run.output);
  std::map<std::string, std::uint64_t> unknown;
  const std::uint64_t bytes = counts["bytes"];
  const std::uint64_t typed = counts["typed_bytes"];
  for (const simdjson::dom::element row : simdjson::dom::array(counts["types"])) {
    const std::string_view type = row["type"];
    const std::string name(type);
    const bool is_unknown = name.starts_with("(unknown") || name.starts_with("(type ");
    if (!is_unknown) continue;
    const std::uint64_t size = row["bytes"];
    unknown[name.starts_with("(type ") ? "(type N)" : name] += size;
  }
  std::vector<std::pair<std::uint64_t, std::string>> largest;
  for (const auto& [name, size] : unknown) largest.emplace_back(size, name);
  std::sort(largest.rbegin(), largest.rend());
  if (largest.size() > kShown) largest.resize(kShown);
  Share share;
  share.percent = 100.0 * static_cast<double>(typed) / static_cast<double>(bytes);
  share.text = fmt::format("{:.1f} % of {} KiB typed", share.percent, bytes / 1024);
  for (const auto& [size, name] : largest) {
    share.text += fmt::format("; {} {:.1f} KiB", name, static_cast<double>(size) / 1024);
  }
  return share;
}

}  // namespace

TEST_CASE("nearly all bytes of programs with debug information have a type") {
  for (const char* name : {"typed_c_gcc5", "typed_cxx_gcc5", "typed_service_debug", "web_debug"}) {
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    LiveTarget target(name);
    const Share share = share_of(target);
    print_figure(fmt::format("{}: {}", name, share.text));
    CHECK(share.percent >= kWanted);
    CHECK(harm_done_to(target.pid()) == "");
  }
}

TEST_CASE("a release build without any information gets the types that are possible") {
  const char* const name = "service_release";
  if (!is_target_built(name)) return;
  LiveTarget target(name);
  const Share share = share_of(target);
  print_figure(fmt::format("{}: {}", name, share.text));
  CHECK(share.percent > 0);
  const Share with_ids = share_of(target, {"--type-info", target_path(name) + ".ids"});
  print_figure(fmt::format("{} with its type ids: {}", name, with_ids.text));
  CHECK(with_ids.percent >= share.percent);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
