// The Crystal service reports how many instances of each of its classes are alive, and heapattach
// must count exactly as many, however the service was built.

#include <charconv>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/typed_truth.h"

namespace heapattach {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Reads the next lines of the service, one for each class.
Counts read_counts(LiveTarget& service, std::int64_t classes) {
  Counts counts;
  for (std::int64_t i = 0; i < classes; ++i) {
    const std::string line = service.read_line();
    const std::size_t tab = line.find('\t');
    REQUIRE(tab != std::string::npos);
    counts[line.substr(0, tab)] = number_of(std::string_view(line).substr(tab + 1));
  }
  return counts;
}

// The service's own count of live instances.
Counts inventory(LiveTarget& service) {
  return read_counts(service, service.ask("counts").at("classes"));
}

// The rows of a table of tab-separated values: objects, bytes, type. The service's names contain
// nothing escaped.
Counts rows_of(const std::string& table) {
  Counts counts;
  std::size_t at = table.find('\n') + 1;
  while (at < table.size()) {
    const std::size_t end = std::min(table.find('\n', at), table.size());
    const std::string line = table.substr(at, end - at);
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first + 1);
    REQUIRE(second != std::string::npos);
    counts[line.substr(second + 1)] += number_of(line);
    at = end + 1;
  }
  return counts;
}

Counts count(const LiveTarget& service, std::vector<std::string> options) {
  options.insert(options.begin(), {"--count", "-f", "tsv"});
  options.push_back(fmt::format("{}", service.pid()));
  const ToolRun run = run_tool(options);
  INFO(run.errors);
  REQUIRE(run.status == 0);
  return rows_of(run.output);
}

// The differences, one line for each class.
std::string difference(const Counts& expected, const Counts& counted) {
  std::string text;
  for (const auto& [name, instances] : expected) {
    const auto row = counted.find(name);
    const std::uint64_t found = row == counted.end() ? 0 : row->second;
    if (found != instances) text += fmt::format("{}: {} of {}\n", name, found, instances);
  }
  return text;
}

struct Variant {
  const char* name = nullptr;
  bool needs_ids = false;  // the machine code does not show the names
};

bool is_built(const Variant& variant) {
  const std::string path = target_path(fmt::format("service_{}", variant.name));
  if (::access(path.c_str(), X_OK) == 0) return true;
  print_skip("there was no Crystal compiler to build the service");
  return false;
}

void check_counts(const Variant& variant) {
  if (!is_built(variant)) return;
  const std::string name = fmt::format("service_{}", variant.name);
  LiveTarget service(name);
  const Counts expected = inventory(service);
  REQUIRE(expected.size() > 30);
  const std::vector<std::string> ids = {"--type-info", target_path(name) + ".ids"};
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    CHECK(difference(expected, count(service, ids)) == "");
    if (!variant.needs_ids) CHECK(difference(expected, count(service, {})) == "");
  }
  CHECK(service.ask("report").at("lost") == 0);
  CHECK(harm_done_to(service.pid()) == "");
}

}  // namespace

TEST_CASE("the counts of a Crystal service built by default are exact") {
  check_counts({.name = "default"});
}

TEST_CASE("the counts of a Crystal service built with --debug are exact") {
  check_counts({.name = "debug"});
}

TEST_CASE("the counts of a Crystal service built with --static are exact") {
  check_counts({.name = "static"});
}

TEST_CASE("the counts of a Crystal service with several threads are exact") {
  check_counts({.name = "threads"});
}

TEST_CASE("the counts of a Crystal service built with --release are exact, given its type ids") {
  check_counts({.name = "release", .needs_ids = true});
}

TEST_CASE("the counts of a stripped Crystal service are exact, given its type ids") {
  check_counts({.name = "default_stripped", .needs_ids = true});
}

TEST_CASE("the counts of a stripped static Crystal service are exact, given its type ids") {
  check_counts({.name = "static_stripped", .needs_ids = true});
}

TEST_CASE("the counts of a stripped Crystal service of --release are exact, given its type ids") {
  check_counts({.name = "release_stripped", .needs_ids = true});
}

TEST_CASE(
    "number buffers of a Crystal service have no edges, and what its classes reference has a "
    "type") {
  if (!is_built({.name = "debug"})) return;
  LiveTarget service("service_debug");
  const DescribedHeap heap = snapshot_of(service);
  std::size_t buffers = 0;
  std::string wrong;
  for (const auto& [address, object] : heap) {
    const bool of_numbers = object.type == "(buffer of Array(Int32))" ||
                            object.type == "(buffer of Array(Int64))" ||
                            object.type == "(buffer of Slice(Int32))";
    buffers += of_numbers ? 1U : 0U;
    if (of_numbers && !object.edges.empty()) wrong += fmt::format("{:#x} has edges\n", address);
    if (!object.type.starts_with("Acme::") && object.type != "Store") continue;
    for (const auto& [path, to] : object.edges) {
      const auto target = heap.find(to);
      const bool is_typed = target != heap.end() && !target->second.type.starts_with("(unknown");
      if (!is_typed) wrong += fmt::format("{} {}: no type\n", object.type, path);
      if (!path.starts_with('@')) wrong += fmt::format("{} {}: no path\n", object.type, path);
    }
  }
  CHECK(buffers > 1500);
  CHECK(wrong == "");
  CHECK(harm_done_to(service.pid()) == "");
}

// The program has a class and its subclasses, objects that only closures capture, and numbers
// behind a Pointer(UInt64).
TEST_CASE("each kind of object of a Crystal program is counted as what it is, without a list") {
  if (!is_target_built("kinds_debug")) {
    print_skip("no Crystal compiler");
    return;
  }
  LiveTarget kinds("kinds_debug");
  const Counts expected = inventory(kinds);
  for (const char* name : {"Kinds::Animal", "Kinds::Dog", "Kinds::Captured", "Kinds::Limbs"}) {
    REQUIRE(expected.at(name) > 30);
  }
  const Counts counted = count(kinds, {});
  CHECK(difference(expected, counted) == "");
  CHECK(counted.at("(buffer of Kinds::Limbs)") == expected.at("Kinds::Limbs"));
}

TEST_CASE("instances in slots far larger than their class are counted") {
  if (!is_target_built("sizes_default")) {
    print_skip("no Crystal compiler");
    return;
  }
  for (const char* name : {"sizes_default", "sizes_default_stripped"}) {
    CAPTURE(name);
    LiveTarget sizes(name);
    const auto answer = sizes.ask("counts");
    REQUIRE(answer.at("widest") > 140);
    const Counts expected = read_counts(sizes, answer.at("classes"));
    REQUIRE(expected.size() == 6);
    const Counts counted = count(sizes, {"--type-info", target_path(name) + ".ids"});
    CHECK(difference(expected, counted) == "");
    for (const auto& [row, objects] : counted) CHECK(row.find("in an Array(Sizes::") == row.npos);
    CHECK(harm_done_to(sizes.pid()) == "");
  }
}

TEST_CASE("dead objects of a Crystal service appear only with --all") {
  const Variant variant{.name = "default"};
  if (!is_built(variant)) return;
  LiveTarget service("service_default");
  const Counts live = count(service, {});
  CHECK_FALSE(live.empty());
  for (const auto& [row, objects] : live) {
    CHECK(row.find("unreachable") == std::string::npos);
    CHECK(row.find("Dropped") == std::string::npos);
  }
  const Counts all = count(service, {"--all"});
  const auto dropped = all.find("Acme::Dropped (unreachable)");
  REQUIRE(dropped != all.end());
  CHECK(dropped->second == 300);
}

}  // namespace heapattach
