#include "report/analyze/dominators.h"

#include <doctest/doctest.h>

#include "attach/base/sanitized.h"
#include "tests/report/analyze/random_graph.h"

namespace heapattach::analyze {
namespace {

// Applies the definition: an object dominates all objects that cannot be reached without it.
std::vector<std::vector<bool>> dominated_by(const RandomGraph& random) {
  const std::vector<bool> all = random.reached();
  std::vector<std::vector<bool>> result;
  for (ObjectIndex object = 0; object < all.size(); ++object) {
    std::vector<bool> lost = random.reached(object);
    for (std::size_t i = 0; i < all.size(); ++i) lost[i] = all[i] && !lost[i];
    result.push_back(std::move(lost));
  }
  return result;
}

TEST_CASE("dominators and retained sizes are those of the definition, on 3,000 random graphs") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    const Dominators found = find_dominators(random.graph());
    const auto retained = retained_bytes(found, random.bytes);
    const auto expected = dominated_by(random);
    const std::vector<bool> reached = random.reached();
    std::size_t live = 0;
    for (ObjectIndex object = 0; object < random.bytes.size(); ++object) {
      if (reached[object]) ++live;
      std::uint64_t sum = 0;
      std::vector<bool> in_tree(random.bytes.size());
      for (ObjectIndex below = 0; below < random.bytes.size(); ++below) {
        if (expected[object][below]) sum += random.bytes[below];
        ObjectIndex at = below;
        while (at != object && at != kNone) at = found.of[at];
        in_tree[below] = at == object && reached[below];
      }
      REQUIRE(retained[object] == sum);
      REQUIRE(in_tree == expected[object]);
    }
    REQUIRE(found.order.size() == live);
  }
}

TEST_CASE("a long list is dominated link by link") {
  constexpr ObjectIndex kLength = kIsSanitized ? 100'000 : 1'000'000;  // deeper than a stack
  std::vector<std::uint64_t> first_edge;
  std::vector<snapshot::Edge> edges;
  for (ObjectIndex object = 0; object < kLength; ++object) {
    first_edge.push_back(edges.size());
    edges.push_back({1, (object + 1) % kLength});  // the last references the first
  }
  first_edge.push_back(edges.size());
  const std::vector<ObjectIndex> roots = {0};
  const Dominators found = find_dominators({first_edge, edges, roots});
  CHECK(found.of[0] == kNone);
  CHECK(found.of[kLength - 1] == kLength - 2);
  const std::vector<std::uint64_t> bytes(kLength, 16);
  CHECK(retained_bytes(found, bytes)[1] == 16ULL * (kLength - 1));
}

TEST_CASE("a graph without objects or without roots has no dominators") {
  CHECK(find_dominators({}).order.empty());
  const std::vector<std::uint64_t> first_edge = {0, 1};
  const std::vector<snapshot::Edge> edges = {{0, 0}};
  const Dominators found = find_dominators({first_edge, edges, {}});
  CHECK(found.order.empty());
  CHECK(found.of == FlatArray<ObjectIndex>{kNone});
}

}  // namespace
}  // namespace heapattach::analyze
