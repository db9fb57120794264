#include "report/analyze/root_paths.h"

#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

#include "tests/report/analyze/random_graph.h"

namespace heapattach::analyze {
namespace {

// The distance of each object from `starts`. Edges are relaxed until no distance gets shorter.
std::vector<std::size_t> distances(const Graph& graph, const std::vector<ObjectIndex>& starts) {
  std::vector<std::size_t> distance(graph.size(), kNone);
  for (const ObjectIndex start : starts) distance[start] = 0;
  for (bool is_settled = false; !std::exchange(is_settled, true);) {
    for (ObjectIndex from = 0; from < graph.size(); ++from) {
      if (distance[from] == kNone) continue;
      for (const snapshot::Edge& edge : graph.from(from)) {
        if (distance[edge.to] <= distance[from] + 1) continue;
        distance[edge.to] = distance[from] + 1;
        is_settled = false;
      }
    }
  }
  return distance;
}

bool is_root_path(const Graph& graph, const RootPath& root_path, ObjectIndex target) {
  if (root_path.empty() || graph.roots[root_path[0].by] != root_path[0].object) return false;
  for (std::size_t i = 1; i < root_path.size(); ++i) {
    const auto edges = graph.from(root_path[i - 1].object);
    const bool is_there = std::any_of(edges.begin(), edges.end(), [&](const snapshot::Edge& edge) {
      return edge.to == root_path[i].object && edge.offset_words == root_path[i].by;
    });
    if (!is_there) return false;
  }
  return root_path.back().object == target;
}

TEST_CASE("paths from roots are valid and shortest, on 2,000 random graphs") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    const Graph graph = random.graph();
    const ShortestPaths root_paths = shortest_root_paths(graph);
    const auto expected = distances(graph, random.roots);
    std::size_t last = 0;
    for (const ObjectIndex object : root_paths.order) {
      REQUIRE(expected[object] >= last);
      last = expected[object];
    }
    for (ObjectIndex object = 0; object < graph.size(); ++object) {
      const RootPath root_path = root_paths.to(object);
      REQUIRE(root_path.empty() == (expected[object] == kNone));
      if (root_path.empty()) continue;
      REQUIRE(root_path.size() == expected[object] + 1);
      REQUIRE(is_root_path(graph, root_path, object));
    }
  }
}

TEST_CASE("paths to an object are the shortest from each root, on 2,000 random graphs") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    const Graph graph = random.graph();
    const Referrers referrers(graph);
    const auto target = static_cast<ObjectIndex>(seed % graph.size());
    std::vector<std::size_t> expected;
    for (const ObjectIndex root : graph.roots) {
      const std::size_t distance = distances(graph, {root})[target];
      if (distance != kNone) expected.push_back(distance + 1);
    }
    std::sort(expected.begin(), expected.end());
    std::vector<std::size_t> found;
    const PathsToObject paths(graph, referrers, target);
    for (const std::uint32_t root : paths.roots()) {
      const RootPath root_path = paths.from(root);
      REQUIRE(root_path.front().by == root);
      REQUIRE(is_root_path(graph, root_path, target));
      found.push_back(root_path.size());
    }
    REQUIRE(found == expected);
  }
}

TEST_CASE("paths from better roots come before shorter ones, on 2,000 random graphs") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    const Graph graph = random.graph();
    const std::vector<std::size_t> ends = {graph.roots.size() / 2, graph.roots.size()};
    const ShortestPaths root_paths = shortest_root_paths(graph, {ends});
    const auto middle = random.roots.begin() + static_cast<std::ptrdiff_t>(ends[0]);
    const auto near_best = distances(graph, {random.roots.begin(), middle});
    const auto near_rest = distances(graph, {middle, random.roots.end()});
    for (ObjectIndex object = 0; object < graph.size(); ++object) {
      const bool has_best = near_best[object] != kNone;
      const RootPath root_path = root_paths.to(object);
      REQUIRE(root_path.empty() == (!has_best && near_rest[object] == kNone));
      if (root_path.empty()) continue;
      REQUIRE(is_root_path(graph, root_path, object));
      REQUIRE((root_path[0].by < ends[0]) == has_best);
      if (has_best) REQUIRE(root_path.size() == near_best[object] + 1);
      const Referrers referrers(graph);
      const PathsToObject paths(graph, referrers, object, {ends});
      REQUIRE((paths.roots().at(0) < ends[0]) == has_best);
    }
  }
}

TEST_CASE("an object that is entered last is on no path that goes without it, on random graphs") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    const Graph graph = random.graph();
    std::vector<bool> is_last(graph.size());
    for (ObjectIndex object = 0; object < graph.size(); object += 3) is_last[object] = true;
    const auto enters = [&](const RootPath& root_path) {
      return std::any_of(root_path.begin() + 1, root_path.end(),
                         [&](const Step& step) { return is_last[step.object]; });
    };
    PathOrder order;
    order.entered_last = &is_last;
    const ShortestPaths root_paths = shortest_root_paths(graph, order);
    const ShortestPaths all = shortest_root_paths(graph);
    std::vector<ObjectIndex> open(graph.roots.begin(), graph.roots.end());
    std::vector<bool> is_reached(graph.size());
    while (!open.empty()) {
      const ObjectIndex from = open.back();
      open.pop_back();
      if (is_reached[from]) continue;
      is_reached[from] = true;
      for (const snapshot::Edge& edge : graph.from(from)) {
        if (!is_last[edge.to]) open.push_back(edge.to);
      }
    }
    for (ObjectIndex object = 0; object < graph.size(); ++object) {
      REQUIRE(root_paths.leads_to(object) == all.leads_to(object));
      if (!root_paths.leads_to(object)) continue;
      REQUIRE(is_root_path(graph, root_paths.to(object), object));
      REQUIRE(enters(root_paths.to(object)) == !is_reached[object]);
      const Referrers referrers(graph);
      const PathsToObject paths(graph, referrers, object, order);
      const RootPath first = paths.from(paths.roots().at(0));
      REQUIRE(is_root_path(graph, first, object));
      REQUIRE(enters(first) == !is_reached[object]);
    }
  }
}

TEST_CASE("each edge is found from its target") {
  const RandomGraph random(7);
  const Graph graph = random.graph();
  const Referrers referrers(graph);
  std::size_t count = 0;
  for (ObjectIndex to = 0; to < graph.size(); ++to) {
    for (const Referrer& referrer : referrers.of(to)) {
      const auto edges = graph.from(referrer.from);
      CHECK(std::any_of(edges.begin(), edges.end(), [&](const snapshot::Edge& edge) {
        return edge.to == to && edge.offset_words == referrer.word;
      }));
      ++count;
    }
  }
  CHECK(count == graph.edges.size());
}

}  // namespace
}  // namespace heapattach::analyze
