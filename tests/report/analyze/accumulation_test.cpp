#include "report/analyze/accumulation.h"

#include <doctest/doctest.h>

#include "tests/report/analyze/random_graph.h"

namespace heapattach::analyze {
namespace {

using snapshot::TypeIndex;

// A dominator tree, given by the number of each object's parent, which must be smaller.
struct Tree {
  Dominators dominators;
  std::vector<std::uint64_t> bytes;
  std::vector<TypeIndex> types;

  ObjectIndex add(ObjectIndex by, std::uint64_t size, TypeIndex type) {
    const auto made = static_cast<ObjectIndex>(bytes.size());
    dominators.of.push_back(by);
    dominators.order.push_back(made);
    bytes.push_back(size);
    types.push_back(type);
    return made;
  }
  [[nodiscard]] std::vector<Accumulation> find(std::uint64_t threshold) const {
    return find_accumulations(dominators, retained_bytes(dominators, bytes), types, threshold);
  }
};

TEST_CASE("the suspect is the last object above many small ones, not its holder") {
  Tree tree;
  const ObjectIndex cache = tree.add(kNone, 16, 0);
  const ObjectIndex hash = tree.add(cache, 48, 1);
  const ObjectIndex buffer = tree.add(hash, 1000, 2);
  for (int i = 0; i < 100; ++i) tree.add(buffer, 90, 3);
  tree.add(cache, 500, 4);
  CHECK(tree.find(1000) == std::vector<Accumulation>{{buffer, 10'000, 1}});
}

TEST_CASE("two suspects below one holder are separate, and the larger comes first") {
  Tree tree;
  const ObjectIndex app = tree.add(kNone, 16, 0);
  const ObjectIndex small = tree.add(app, 16, 1);
  const ObjectIndex large = tree.add(app, 16, 1);
  for (int i = 0; i < 10; ++i) tree.add(small, 100, 2);
  for (int i = 0; i < 20; ++i) tree.add(large, 100, 2);
  CHECK(tree.find(1000) == std::vector<Accumulation>{{large, 2016, 1}, {small, 1016, 1}});
}

TEST_CASE("a list is found at its first link, with all of its links") {
  Tree tree;
  ObjectIndex last = tree.add(tree.add(kNone, 16, 0), 16, 1);
  const ObjectIndex head = last;
  for (int i = 1; i < 1'000; ++i) {
    tree.add(last, 84, 2);
    last = tree.add(last, 16, 1);
  }
  const auto found = tree.find(10'000);
  REQUIRE(found.size() == 1);
  CHECK(found[0].object == head);
  CHECK(found[0].links == 1'000);
  CHECK(found[0].gathered == 999 * 100 + 16);
}

TEST_CASE("a list whose links hold the next one through another object has all of its links, too") {
  Tree tree;
  ObjectIndex last = tree.add(kNone, 16, 1);
  for (int i = 1; i < 1'000; ++i) {
    tree.add(last, 64, 2);
    last = tree.add(tree.add(last, 20, 3), 16, 1);
  }
  const auto all = tree.find(10'000);
  CHECK_FALSE(all.empty());
  for (const Accumulation& found : all) {
    CAPTURE(found.object);
    CHECK(found.links == (tree.types[found.object] == 1 ? 1'000 : 999));
  }
}

TEST_CASE("there are no suspects if nothing is large") {
  CHECK(Tree().find(1).empty());
  Tree tree;
  for (int i = 0; i < 10; ++i) tree.add(kNone, 16, 0);
  CHECK(tree.find(17).empty());
}

TEST_CASE("memory counts towards one suspect only, on 2,000 random graphs") {
  int places = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const RandomGraph random(seed);
    const Dominators dominators = find_dominators(random.graph());
    std::uint64_t live = 0;
    for (const ObjectIndex object : dominators.order) live += random.bytes[object];
    std::uint64_t sum = 0;
    for (const auto& place : find_accumulations(
             dominators, retained_bytes(dominators, random.bytes), random.types, live / 10)) {
      ++places;
      REQUIRE(place.gathered >= live / 10);
      sum += place.gathered;
    }
    REQUIRE(sum <= live);
  }
  CHECK(places > 1000);
}

}  // namespace
}  // namespace heapattach::analyze
