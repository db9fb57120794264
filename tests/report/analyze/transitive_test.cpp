#include <doctest/doctest.h>

#include "report/analyze/type_sizes.h"
#include "tests/report/analyze/random_graph.h"

namespace heapattach::analyze {
namespace {

// The sums by type, from the type and the bytes of each object.
std::vector<std::uint64_t> sums_of(const Graph& graph,
                                   std::span<const snapshot::TypeIndex> types,
                                   std::span<const std::uint64_t> bytes,
                                   std::size_t type_count) {
  const Walk found = walk(graph);
  std::vector<snapshot::TypeIndex> types_by_number(1);
  std::vector<std::uint64_t> bytes_by_number(1);
  for (Number number = 1; number < found.objects.size(); ++number) {
    types_by_number.push_back(types[found.objects[number]]);
    bytes_by_number.push_back(bytes[found.objects[number]]);
  }
  return transitive_bytes(found, types_by_number, bytes_by_number, type_count);
}

TEST_CASE("transitive sizes are those of a walk from each type, on 3,000 random graphs") {
  constexpr std::size_t kTypes = 5;  // the last one has no objects
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    const std::vector<bool> live = random.reached();
    std::vector<std::uint64_t> expected(kTypes);
    for (snapshot::TypeIndex type = 0; type < kTypes; ++type) {
      std::vector<ObjectIndex> own;
      for (ObjectIndex object = 0; object < live.size(); ++object) {
        if (live[object] && random.types[object] == type) own.push_back(object);
      }
      const std::vector<bool> reached = random.reached_from(own);
      for (ObjectIndex object = 0; object < live.size(); ++object) {
        if (reached[object]) expected[type] += random.bytes[object];
      }
    }
    REQUIRE(sums_of(random.graph(), random.types, random.bytes, kTypes) == expected);
  }
}

TEST_CASE("more than 64 types are summed up like a few") {
  constexpr snapshot::TypeIndex kTypes = 200;  // each has one object, which references the next
  std::vector<std::uint64_t> first_edge = {0};
  std::vector<snapshot::Edge> edges;
  std::vector<snapshot::TypeIndex> types;
  for (ObjectIndex object = 0; object < kTypes; ++object) {
    if (object + 1 < kTypes) edges.push_back({1, object + 1});
    first_edge.push_back(edges.size());
    types.push_back(object);
  }
  const std::vector<ObjectIndex> roots = {0};
  const std::vector<std::uint64_t> bytes(kTypes, 10);
  const auto sums = sums_of({first_edge, edges, roots}, types, bytes, kTypes);
  for (snapshot::TypeIndex type = 0; type < kTypes; ++type)
    CHECK(sums[type] == 10 * (kTypes - type));
}

}  // namespace
}  // namespace heapattach::analyze
