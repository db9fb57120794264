#include "integration/language_counts.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/tool.h"

namespace heapattach {

Count count_of(pid_t pid, const Release& release) {
  const ToolRun run = run_tool({"--count", "-f", "json", fmt::format("{}", pid)});
  INFO(run.errors);
  REQUIRE((run.status == 0 || (!release.is_tried && run.status == 7)));
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(run.output);
  Count count;
  double all = 0;
  double unknown = 0;
  for (const simdjson::dom::element row : root["types"]) {
    const std::string name{std::string_view{row["type"]}};
    const auto bytes = static_cast<double>(std::int64_t{row["bytes"]});
    count.objects[name] += std::int64_t{row["objects"]};
    all += bytes;
    if (name.starts_with("(unknown")) unknown += bytes;
  }
  count.named = 1 - unknown / all;
  return count;
}

Count Maker::make(int number) {
  child_.send_line(fmt::format("{}", number));
  REQUIRE(read_until("made"));
  return count_of(child_.pid(), release_);
}

bool Maker::ends_with(const std::string& result) {
  child_.send_line("0");
  return read_until(result);
}

bool Maker::read_until(const std::string& wanted) {
  for (;;) {
    const std::optional<std::string> line = child_.read_line(std::chrono::seconds(120));
    if (!line || *line == wanted) return line.has_value();
  }
}

namespace {

// Whether no object has a name. A release that was not tried may represent values in another way.
bool has_no_names(const Maker& maker, const Count& count, const Counts& each) {
  const bool has_any = std::any_of(each.begin(), each.end(), [&](const auto& expected) {
    return count.objects.contains(expected.first);
  });
  if (maker.release().is_tried || has_any) return false;
  print_untried(maker.release(), "its objects have no names");
  return true;
}

}  // namespace

void check_differences(Maker& maker, int more, Counts each) {
  constexpr int kRounds = 40;
  constexpr int kFew = 500;
  for (int round = 0; round < kRounds && !each.empty(); ++round) {
    maker.make(kFew);
    Count few = maker.make(kFew);
    Count many = maker.make(kFew + more);
    if (round == 0 && has_no_names(maker, many, each)) return;
    CHECK(few.named >= 0.9);
    CHECK(many.named >= 0.9);
    std::erase_if(each, [&](const auto& expected) {
      const auto& [name, number] = expected;
      CHECK(few.objects[name] >= kFew * number);
      CHECK(many.objects[name] >= (kFew + more) * number);
      const std::int64_t difference = many.objects[name] - few.objects[name];
      if (difference != more * number) MESSAGE(name << ": " << difference << " more");
      return difference == more * number;
    });
  }
  CHECK(each.empty());
}

}  // namespace heapattach
