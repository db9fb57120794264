#include "report/analyze/type_sizes.h"

#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "report/analyze/dominators.h"
#include "report/analyze/explaining_roots.h"
#include "tests/report/analyze/random_graph.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::analyze {
namespace {

snapshot::Snapshot snapshot_of(const RandomGraph& random) {
  SnapshotBuilder build;
  for (const char* name : {"A", "B", "C", "D"}) build.type(name);
  const std::vector<bool> live = random.reached();
  std::vector<ObjectIndex> index(live.size(), kNone);
  ObjectIndex next = 0;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) index[i] = next++;
  }
  const Graph graph = random.graph();
  for (ObjectIndex object = 0; object < live.size(); ++object) {
    if (!live[object]) continue;
    std::vector<std::pair<std::uint32_t, ObjectIndex>> pointers;
    for (const snapshot::Edge& edge : graph.from(object)) {
      pointers.emplace_back(edge.offset_words * 8, index[edge.to]);
    }
    build.object(0x1000 + 4096 * std::uint64_t{object}, random.types[object], random.bytes[object],
                 pointers);
  }
  for (const ObjectIndex root : random.roots) {
    build.snapshot.roots.emplace_back().to = index[root];
  }
  return build.snapshot;
}

// The bytes that become unreachable if the objects of a type are removed, their own included.
std::uint64_t lost_without(const RandomGraph& random, snapshot::TypeIndex type) {
  std::vector<bool> seen(random.bytes.size());
  std::vector<ObjectIndex> waiting = random.roots;
  const Graph graph = random.graph();
  while (!waiting.empty()) {
    const ObjectIndex at = waiting.back();
    waiting.pop_back();
    if (seen[at] || random.types[at] == type) continue;
    seen[at] = true;
    for (const snapshot::Edge& edge : graph.from(at)) waiting.push_back(edge.to);
  }
  const std::vector<bool> live = random.reached();
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i] && !seen[i]) lost += random.bytes[i];
  }
  return lost;
}

TEST_CASE(
    "a type's retained bytes are between its largest object's and those freed with all of it") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    snapshot::Snapshot snapshot = snapshot_of(random);
    snapshot::CountTable table = count_objects(snapshot);
    add_sizes(snapshot, snapshot::CountBy::Type, table);
    const auto dominators = find_dominators(random.graph());
    const auto retained = retained_bytes(dominators, random.bytes);
    for (const snapshot::CountRow& row : table.rows) {
      const auto type = static_cast<snapshot::TypeIndex>(row.type[0] - 'A');
      // By definition, the sum over the type's objects that no other object of the type dominates.
      std::uint64_t sum = 0;
      for (const ObjectIndex object : dominators.order) {
        if (random.types[object] != type) continue;
        ObjectIndex above = dominators.of[object];
        while (above != kNone && random.types[above] != type) above = dominators.of[above];
        if (above == kNone) sum += retained[object];
      }
      REQUIRE(row.sizes);
      REQUIRE(row.sizes->retained_bytes == sum);
      REQUIRE(row.sizes->retained_bytes >= row.bytes);
      REQUIRE(row.sizes->retained_bytes <= lost_without(random, type));
      REQUIRE(row.sizes->transitive_bytes >= row.sizes->retained_bytes);
    }
  }
}

// Applies the definition: the sum over a type's objects that no other object of the type dominates.
std::map<std::string, std::uint64_t> retained_by_definition(const snapshot::Snapshot& snapshot) {
  const auto roots = objects_of(snapshot, explaining_roots(snapshot).numbers);
  const auto dominators = find_dominators({snapshot.first_edge, snapshot.edges, roots});
  std::vector<std::uint64_t> bytes;
  for (const snapshot::Object& object : snapshot.objects) {
    bytes.push_back(snapshot.bytes_of(object));
  }
  const auto retained = retained_bytes(dominators, bytes);
  std::map<std::string, std::uint64_t> sums;
  for (const ObjectIndex object : dominators.order) {
    const snapshot::TypeIndex type = snapshot.objects[object].type;
    ObjectIndex above = dominators.of[object];
    while (above != kNone && snapshot.objects[above].type != type) above = dominators.of[above];
    if (above == kNone) sums[snapshot.types[type].name] += retained[object];
  }
  return sums;
}

TEST_CASE("roots that explain nothing take nothing away from what types retain") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    snapshot::Snapshot snapshot = snapshot_of(RandomGraph(seed));
    const auto step = static_cast<ObjectIndex>(1 + seed % 3);
    for (ObjectIndex object = 0; object < snapshot.objects.size(); object += step) {
      snapshot::Root& root = snapshot.roots.emplace_back();
      root.kind = snapshot::RootKind::Finalizer;
      root.to = object;
    }
    snapshot::CountTable table = count_objects(snapshot);
    add_sizes(snapshot, snapshot::CountBy::Type, table);
    std::map<std::string, std::uint64_t> found;
    for (const snapshot::CountRow& row : table.rows) found[row.type] = row.sizes->retained_bytes;
    REQUIRE(found == retained_by_definition(snapshot));
  }
}

TEST_CASE("if buffers count towards their holders, so do sizes") {
  SnapshotBuilder build;
  const auto array = build.type("Array(Int32)");
  const auto buffer = build.type("(buffer of Array(Int32))");
  build.snapshot.types[buffer].holder = "Array(Int32)";
  build.object(0x1000, array, 32, {{16, 1}});
  build.object(0x2000, buffer, 64);
  build.snapshot.roots.emplace_back().to = 0;
  snapshot::CountTable table = count_objects(build.snapshot, snapshot::CountBy::Holder);
  add_sizes(build.snapshot, snapshot::CountBy::Holder, table);
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].sizes == snapshot::RowSizes{96, 96});
  CHECK(table.has_sizes);
}

}  // namespace
}  // namespace heapattach::analyze
