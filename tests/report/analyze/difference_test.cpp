#include "report/analyze/difference.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "tests/support/small_snapshot.h"

namespace heapattach::analyze {

using snapshot::CountBy;
using snapshot::Snapshot;

namespace {

using Identity = std::tuple<std::uint64_t, std::string, std::uint64_t>;

std::set<Identity> identities(const Snapshot& snapshot) {
  std::set<Identity> found;
  for (const snapshot::Object& object : snapshot.objects) {
    if (object.is_reachable == 0) continue;
    found.emplace(object.address, snapshot.types[object.type].name, snapshot.bytes_of(object));
  }
  return found;
}

// Computes the growth slowly and simply, with sets of all objects.
std::vector<TypeGrowth> naive(const std::vector<Snapshot>& snapshots) {
  const auto first = identities(snapshots.front());
  const auto last = identities(snapshots.back());
  const auto middle = identities(snapshots[snapshots.size() / 2]);
  std::map<std::string, TypeGrowth> rows;
  for (const auto& [address, type, bytes] : first) rows[type].before.add(bytes);
  for (const Identity& one : last) {
    const auto& [address, type, bytes] = one;
    TypeGrowth& row = rows[type];
    row.after.add(bytes);
    if (first.contains(one)) {
      row.stayed.add(bytes);
    } else if (snapshots.size() > 2 && middle.contains(one)) {
      row.kept.add(bytes);
    }
  }
  std::vector<TypeGrowth> all;
  for (auto& [type, row] : rows) {
    row.type = type;
    all.push_back(row);
  }
  return all;
}

// Each random snapshot numbers its types in its own way, and one name may have two numbers.
Snapshot random_snapshot(std::mt19937& random) {
  const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  SnapshotBuilder build;
  std::vector<std::string> names{"A", "B", "C", "D", "D"};
  std::shuffle(names.begin(), names.end(), random);
  for (const std::string& name : names) build.type(name);
  for (std::uint64_t address = 0x1000; address < 0x1000 + 40 * 16; address += 16) {
    if (below(3) == 0) continue;
    build.object(address, below(5), below(4) == 0 ? 32 : 16).is_reachable = below(8) != 0 ? 1 : 0;
  }
  return build.snapshot;
}

Difference compare_all(const std::vector<Snapshot>& snapshots) {
  std::vector<const Snapshot*> pointers;
  for (const Snapshot& snapshot : snapshots) pointers.push_back(&snapshot);
  return compare(pointers, CountBy::Type);
}

}  // namespace

TEST_CASE("growth is by type, and marks new and gone types") {
  SnapshotBuilder a;
  a.object(0x1000, a.type("Session"), 48);
  a.object(0x2000, a.type("Old"), 16);
  SnapshotBuilder b;
  const auto added = b.type("New");
  const auto session = b.type("Session");
  b.object(0x1000, session, 48);
  b.object(0x1030, session, 48);
  b.object(0x2000, added, 16);
  const Difference found = compare_all({a.snapshot, b.snapshot});
  REQUIRE(found.rows.size() == 3);
  CHECK(found.rows[0].type == "New");
  CHECK(found.rows[0].is_new());
  CHECK(found.rows[1].type == "Old");
  CHECK(found.rows[1].is_gone());
  CHECK(found.rows[2] == TypeGrowth{"Session", {1, 48}, {2, 96}, {1, 48}, {}});
  CHECK(found.total.grown_objects() == 1);
  CHECK(found.total.grown_bytes() == 48);
}

TEST_CASE(
    "with three snapshots, objects that stayed are distinguished from those that disappeared "
    "again") {
  const auto with = [](const std::vector<std::uint64_t>& addresses) {
    SnapshotBuilder build;
    const auto session = build.type("Session");
    for (const std::uint64_t address : addresses) build.object(address, session, 48);
    return build.snapshot;
  };
  const Difference found =
      compare_all({with({0x1000, 0x1030}), with({0x1000, 0x1060, 0x1090}), with({0x1060, 0x10c0})});
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0] == TypeGrowth{"Session", {2, 96}, {2, 96}, {}, {1, 48}});
}

TEST_CASE("buffers grow with their holders if rows are by holder") {
  SnapshotBuilder a;
  a.object(0x1000, a.type("Array(Foo)"), 32);
  SnapshotBuilder b;
  b.object(0x1000, b.type("Array(Foo)"), 32);
  b.object(0x2000, b.type("(buffer of Array(Foo))"), 64);
  b.snapshot.types.back().holder = "Array(Foo)";
  const std::vector<const Snapshot*> both{&a.snapshot, &b.snapshot};
  const Difference found = compare(both, CountBy::Holder);
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0] == TypeGrowth{"Array(Foo)", {1, 32}, {2, 96}, {1, 32}, {}});
}

TEST_CASE("a difference equals that of plain sets, for any snapshots") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::vector<Snapshot> snapshots;
    for (int i = 0; i < 2 + round % 2; ++i) snapshots.push_back(random_snapshot(random));
    const Difference found = compare_all(snapshots);
    REQUIRE(found.rows == naive(snapshots));
  }
}

}  // namespace heapattach::analyze
