#include "report/format/export/tree_growth.h"

#include <map>
#include <string>

#include <doctest/doctest.h>

namespace heapattach {

namespace {

// Makes a tree from lines such as {"CACHE;Node", 96}.
TypeTree tree_of(const std::vector<std::pair<std::string, std::uint64_t>>& paths) {
  TypeTree tree;
  tree.frames = {"all"};
  tree.nodes.emplace_back();
  std::map<std::string, TypeTree::NodeIndex> known;
  for (const auto& [path, bytes] : paths) {
    TypeTree::NodeIndex at = 0;
    for (std::size_t end = 0; end != std::string::npos;) {
      const std::size_t begin = end == 0 ? 0 : end + 1;
      end = path.find(';', begin);
      const auto [node, is_new] = known.try_emplace(
          path.substr(0, end), static_cast<TypeTree::NodeIndex>(tree.nodes.size()));
      if (is_new) {
        tree.frames.push_back(path.substr(begin, end == std::string::npos ? end : end - begin));
        tree.nodes.push_back({.parent = at,
                              .frame = static_cast<TypeTree::FrameIndex>(tree.frames.size() - 1),
                              .depth = tree.nodes[at].depth + 1});
      }
      at = node->second;
    }
    tree.nodes[at].bytes = bytes;
  }
  return tree;
}

// The growth of each path, without that of the paths below it.
std::map<std::string, std::uint64_t> own_growth(const TypeTree& before, const TypeTree& after) {
  const TreeGrowth growth = grown_since(before, after);
  std::map<std::string, std::uint64_t> found;
  for (TypeTree::NodeIndex node = 1; node < after.nodes.size(); ++node) {
    if (growth.own[node] == 0) continue;
    std::string path;
    for (const auto frame : after.path_to(node)) {
      path += (path.empty() ? "" : ";") + after.frames[frame];
    }
    found[path] = growth.own[node];
  }
  return found;
}

using Growth = std::map<std::string, std::uint64_t>;

}  // namespace

TEST_CASE("what has grown is where it has grown, and above it") {
  const TypeTree before = tree_of({{"CACHE;Node", 100}, {"CACHE;Node;Text", 50}, {"LOG;Text", 10}});
  const TypeTree after =
      tree_of({{"CACHE;Node", 300}, {"CACHE;Node;Text", 80}, {"LOG;Text", 10}, {"NEW;Page", 4}});
  CHECK(own_growth(before, after) ==
        Growth{{"CACHE;Node", 200}, {"CACHE;Node;Text", 30}, {"NEW;Page", 4}});
  const TreeGrowth growth = grown_since(before, after);
  CHECK(growth.all[0] == 234);
  CHECK(growth.all[1] == 230);  // CACHE
}

TEST_CASE("a type that has not grown has no growth, even with another holder") {
  const TypeTree before = tree_of({{"CACHE;Node", 1000}, {"stack;Text", 10}});
  const TypeTree after = tree_of({{"OTHER;Node", 1000}, {"OTHER;Node;Text", 40}});
  CHECK(own_growth(before, after) == Growth{{"OTHER;Node;Text", 30}});
}

TEST_CASE("the growth of a type is divided among the places where it has grown") {
  const TypeTree before = tree_of({{"A;Node", 1000}, {"B;Node", 1000}, {"C;Node", 1000}});
  const TypeTree after = tree_of({{"A;Node", 1200}, {"B;Node", 1600}, {"C;Node", 600}});
  CHECK(own_growth(before, after) == Growth{{"A;Node", 100}, {"B;Node", 300}});
}

TEST_CASE("places of one name share what they had") {
  TypeTree after = tree_of({{"A;Node", 60}, {"B;Node", 60}});
  after.frames[after.nodes[3].frame] = "A";  // now two variables have the same name
  CHECK(grown_since(tree_of({{"A;Node", 100}}), after).all[0] == 20);
  CHECK(grown_since(after, after).all[0] == 0);
  CHECK(grown_since(TypeTree{{"all"}, {TypeTree::Node{}}, {}, {}}, after).all[0] == 120);
}

}  // namespace heapattach
