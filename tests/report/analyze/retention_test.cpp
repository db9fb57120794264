#include "report/analyze/retention.h"

#include <doctest/doctest.h>

#include "attach/base/sanitized.h"
#include "tests/report/analyze/random_graph.h"

namespace heapattach::analyze {
namespace {

RootPath path_to(const Graph& graph, ObjectIndex object) {
  const Referrers referrers(graph);
  const PathsToObject paths(graph, referrers, object);
  return paths.roots().empty() ? RootPath() : paths.from(paths.roots().front());
}

std::uint64_t sum_of(const RandomGraph& random, const std::vector<bool>& objects) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i]) sum += random.bytes[i];
  }
  return sum;
}

TEST_CASE("one search finds what an object retains and what retains it, on 3,000 random graphs") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    const Graph graph = random.graph();
    const std::uint64_t live = sum_of(random, random.reached());
    const Retentions all(graph, random.bytes);
    for (ObjectIndex object = 0; object < graph.size(); ++object) {
      const Retention found = retention_of(graph, path_to(graph, object), random.bytes);
      // By definition, an object retains all objects that cannot be reached without it.
      REQUIRE(found.bytes == live - sum_of(random, random.reached(object)));
      for (const Dominator& dominator : found.dominators) {
        const std::vector<bool> rest = random.reached(dominator.object);
        REQUIRE_FALSE(rest[object]);
        REQUIRE(dominator.retained_bytes == live - sum_of(random, rest));
      }
      REQUIRE(found.dominators == all.of({object}).dominators);
      REQUIRE(found.bytes == all.of({object}).bytes);
      REQUIRE(found.bytes == retained_by(graph, object, random.bytes));
    }
  }
}

TEST_CASE("the last object of a long list is retained by all others") {
  constexpr ObjectIndex kLength = kIsSanitized ? 100'000 : 1'000'000;  // deeper than a stack
  std::vector<std::uint64_t> first_edge;
  std::vector<snapshot::Edge> edges;
  for (ObjectIndex object = 0; object < kLength; ++object) {
    first_edge.push_back(edges.size());
    edges.push_back({1, (object + 1) % kLength});  // the last references the first
  }
  first_edge.push_back(edges.size());
  const std::vector<ObjectIndex> roots = {0};
  const Graph graph{first_edge, edges, roots};
  const std::vector<std::uint64_t> bytes(kLength, 16);
  const Retention found = retention_of(graph, path_to(graph, kLength - 1), bytes);
  CHECK(found.bytes == 16);
  REQUIRE(found.dominators.size() == kLength - 1);
  CHECK(found.dominators.front() == Dominator{0, 16ULL * kLength});
  CHECK(found.dominators.back() == Dominator{kLength - 2, 32});
}

TEST_CASE("what no root reaches retains nothing") {
  const std::vector<std::uint64_t> first_edge = {0, 1};
  const std::vector<snapshot::Edge> edges = {{0, 0}};
  const Graph graph{first_edge, edges, {}};
  const std::vector<std::uint64_t> bytes = {16};
  CHECK(retention_of(graph, {}, bytes).bytes == 0);
  CHECK(retained_by(graph, 0, bytes) == 0);
}

}  // namespace
}  // namespace heapattach::analyze
