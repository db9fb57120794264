#include "report/analyze/growth_holders.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/small_snapshot.h"

namespace heapattach::analyze {

using snapshot::CountBy;
using snapshot::Snapshot;

namespace {

constexpr std::uint64_t kSessionBytes = 48;
constexpr std::uint64_t kTextBytes = 16;

// A global store whose buffer references `sessions`, each with its text. The buffer is at
// `buffer_at`, because a container that grows moves it. A global array references `loose` other
// texts.
Snapshot store(std::uint32_t sessions, std::uint64_t buffer_at, std::uint32_t loose = 0) {
  SnapshotBuilder build;
  const auto store = build.type("Store");
  const auto buffer = build.type("(buffer of Array(Session))");
  const auto session = build.type("Session");
  const auto text = build.type("String");
  const auto list = build.type("List");
  build.snapshot.types[buffer].elements = {0, 8, "", {{0, ""}}};
  build.snapshot.types[list].elements = {0, 8, "", {{0, ""}}};
  const auto pointers_to = [](std::uint32_t first, std::uint32_t count, std::uint32_t step) {
    std::vector<std::pair<std::uint32_t, snapshot::ObjectIndex>> pointers;
    for (std::uint32_t i = 0; i < count; ++i) pointers.emplace_back(8 * i, first + i * step);
    return pointers;
  };
  build.object(0x100, store, 16, {{8, 1}});
  build.object(buffer_at, buffer, 1024, pointers_to(2, sessions, 2));
  for (std::uint32_t i = 0; i < sessions; ++i) {
    build.object(0x10000 + 64 * i, session, kSessionBytes, {{8, 3 + 2 * i}});
    build.object(0x10030 + 64 * i, text, kTextBytes);
  }
  const auto list_at = static_cast<snapshot::ObjectIndex>(build.snapshot.objects.size());
  build.object(0x80000, list, 1024, pointers_to(list_at + 1, loose, 1));
  for (std::uint32_t i = 0; i < loose; ++i) build.object(0x90000 + 16 * i, text, kTextBytes);
  for (const auto& [symbol, to] : {std::pair{"STORE", 0U}, std::pair{"LIST", list_at}}) {
    snapshot::Root root;
    root.symbol = symbol;
    root.to = to;
    build.snapshot.roots.push_back(root);
  }
  return build.snapshot;
}

GrowthHolders holders_of(const std::vector<Snapshot>& snapshots, bool is_same_process = true) {
  std::vector<const Snapshot*> pointers;
  for (const Snapshot& one : snapshots) pointers.push_back(&one);
  return find_growth_holders(pointers, is_same_process, CountBy::Type,
                             compare(pointers, CountBy::Type));
}

}  // namespace

TEST_CASE(
    "the leak is the type of the new objects that retain the rest, not the most common type") {
  const GrowthHolders holders = holders_of({store(2, 0x1000), store(52, 0x2000)});
  CHECK(holders.new_bytes == 50 * (kSessionBytes + kTextBytes) + 1024);
  REQUIRE(holders.found.size() == 1);
  const GrowthHolder& found = holders.found[0];
  CHECK(found.type == "Session");
  CHECK(found.objects == 50);
  CHECK(found.retained_bytes == 50 * (kSessionBytes + kTextBytes));
  REQUIRE(found.others.size() == 1);
  CHECK(found.others[0].type == "String");
  CHECK(found.others[0].bytes == 50 * kTextBytes);
  CHECK(found.through == 50);
  CHECK(found.summary == "global STORE → +8 → [*]");
  CHECK(found.root_path.size() == 3);
}

TEST_CASE("a second leak that holds a tenth of the new bytes is named too, with what it adds") {
  const GrowthHolders holders = holders_of({store(2, 0x1000), store(12, 0x1000, 40)});
  REQUIRE(holders.found.size() == 2);
  CHECK(holders.found[0].type == "String");
  CHECK(holders.found[0].objects == 50);
  CHECK(holders.found[0].through == 40);
  CHECK(holders.found[0].summary == "global LIST → [*]");
  REQUIRE(holders.found[0].other_paths.size() == 1);
  CHECK(holders.found[0].other_paths[0].objects == 10);
  CHECK(holders.found[0].other_paths[0].summary == "global STORE → +8 → [*] → +8");
  CHECK(holders.found[0].left_out == 0);
  CHECK(holders.found[1].type == "Session");
  CHECK(holders.found[1].retained_bytes == 10 * kSessionBytes);
}

TEST_CASE("a new container is not reported instead of the many new objects in it") {
  Snapshot before = store(0, 0x1000);
  before.objects[0].address += 8;  // so the later store is a new object, and one more than before
  before.roots.erase(before.roots.begin());
  for (auto& object : before.objects) object.is_reachable = object.address == 0x80000 ? 1 : 0;
  const GrowthHolders holders = holders_of({before, store(30, 0x2000)});
  REQUIRE(holders.found.size() == 2);
  CHECK(holders.found[0].type == "Session");
  CHECK(holders.found[0].objects == 30);
  CHECK(holders.found[1].type == "Store");
}

TEST_CASE("without new objects there is no leak") {
  CHECK(holders_of({store(5, 0x1000), store(5, 0x1000)}).found.empty());
  CHECK(holders_of({store(5, 0x1000), store(5, 0x2000)}).found.empty());  // a buffer moved
  CHECK(holders_of({store(5, 0x1000), store(2, 0x1000)}).found.empty());
}

TEST_CASE("of three, only what came between the first two and stayed counts") {
  const GrowthHolders holders =
      holders_of({store(2, 0x1000), store(12, 0x1000), store(52, 0x1000)});
  REQUIRE(holders.found.size() == 1);
  CHECK(holders.found[0].objects == 10);
  CHECK(holders.new_bytes == 10 * (kSessionBytes + kTextBytes));
}

TEST_CASE("between two processes, all objects of a type that grew count as new") {
  const GrowthHolders holders = holders_of({store(2, 0x1000), store(52, 0x1000)}, false);
  REQUIRE(holders.found.size() == 1);
  CHECK(holders.found[0].type == "Session");
  CHECK(holders.found[0].objects == 52);
}

TEST_CASE("each row gets what its type retains before and after") {
  const Snapshot before = store(2, 0x1000);
  const Snapshot after = store(52, 0x2000);
  const std::vector<const Snapshot*> both{&before, &after};
  Difference difference = compare(both, CountBy::Type);
  add_retained(both, CountBy::Type, difference);
  CHECK(difference.has_retained);
  std::map<std::string, std::optional<RetainedGrowth>> retained;
  for (const TypeGrowth& row : difference.rows) retained[row.type] = row.retained;
  CHECK(retained.at("Session") == RetainedGrowth{2 * 64, 52 * 64});
  REQUIRE(retained.at("Store"));
  CHECK(retained.at("Store")->grown() == 50 * 64);
}

TEST_CASE("without roots or edges, holders are unknown") {
  Snapshot snapshot = store(2, 0x1000);
  CHECK(knows_holders(snapshot));
  snapshot.roots.clear();
  CHECK_FALSE(knows_holders(snapshot));
}

}  // namespace heapattach::analyze
