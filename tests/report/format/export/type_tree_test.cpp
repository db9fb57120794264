#include "report/format/export/type_tree.h"

#include <map>

#include <doctest/doctest.h>

#include "tests/support/small_snapshot.h"

namespace heapattach::snapshot {

namespace {

// The objects and bytes of each node, by a path such as "static data;CACHE;Node".
std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> by_path(const TypeTree& tree) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> paths;
  for (TypeTree::NodeIndex node = 1; node < tree.nodes.size(); ++node) {
    if (tree.nodes[node].objects == 0) continue;
    std::string path;
    for (const auto frame : tree.path_to(node)) {
      path += (path.empty() ? "" : ";") + tree.frames[frame];
    }
    paths[path] = {tree.nodes[node].objects, tree.nodes[node].bytes};
  }
  return paths;
}

void global(SnapshotBuilder& build, const std::string& symbol, ObjectIndex to) {
  Root root;
  root.symbol = symbol;
  root.to = to;
  build.snapshot.roots.push_back(root);
}

void held_by_stack(SnapshotBuilder& build, pid_t thread, ObjectIndex to) {
  Root root;
  root.kind = RootKind::Stack;
  root.thread = thread;
  root.to = to;
  build.snapshot.roots.push_back(root);
}

using Paths = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;

}  // namespace

TEST_CASE("an object is below what must be freed before it") {
  SnapshotBuilder build;
  const auto a = build.type("A");
  const auto b = build.type("B");
  const auto c = build.type("C");
  build.object(0x1000, a, 32, {{8, 2}});
  build.object(0x1020, b, 48, {{8, 2}});
  build.object(0x1060, c, 64);  // held by both
  build.object(0x10a0, c, 16);  // held by a variable and a stack
  global(build, "CACHE", 0);
  global(build, "CACHE", 1);
  global(build, "OTHER", 3);
  held_by_stack(build, 4711, 3);
  CHECK(by_path(make_type_tree(build.snapshot)) == Paths{{"static data;CACHE;A", {1, 32}},
                                                         {"static data;CACHE;B", {1, 48}},
                                                         {"static data;CACHE;C", {1, 64}},
                                                         {"(several roots);C", {1, 16}}});
}

TEST_CASE("a list of any length is one frame, and so is a recurring type") {
  SnapshotBuilder build;
  const auto node = build.type("Node");
  const auto other = build.type("Other");
  const ObjectIndex count = 100000;
  for (ObjectIndex i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count;
    build.object(0x1000 + 16ULL * i, i % 2 == 0 ? node : other, 16,
                 is_last ? std::vector<std::pair<std::uint32_t, ObjectIndex>>{}
                         : std::vector<std::pair<std::uint32_t, ObjectIndex>>{{8, i + 1}});
  }
  held_by_stack(build, 4711, 0);
  CHECK(by_path(make_type_tree(build.snapshot)) ==
        Paths{{"thread 4711 stack;Node", {count / 2, count * 8}},
              {"thread 4711 stack;Node;Other", {count / 2, count * 8}}});
}

TEST_CASE("a path of too many types ends in a frame for the rest") {
  SnapshotBuilder build;
  const ObjectIndex count = 1000;
  for (ObjectIndex i = 0; i < count; ++i) {
    const auto type = build.type("T" + std::to_string(i));
    build.object(0x1000 + 16ULL * i, type, 16, {{8, (i + 1) % count}});
  }
  global(build, "", 0);
  const TypeTree tree = make_type_tree(build.snapshot);
  CHECK(tree.nodes[0].retained == count * 16);
  CHECK(tree.nodes.size() == TypeTree::kDeepest + 2);
  CHECK(tree.frames[tree.nodes.back().frame] == "(deeper)");
}

TEST_CASE("objects that no root reaches count too, and are marked") {
  SnapshotBuilder build;
  const auto a = build.type("A");
  build.object(0x1000, a, 32);
  build.object(0x1020, a, 48).is_reachable = 0;
  SUBCASE("unreachable objects are left out unless requested") {
    CHECK(by_path(make_type_tree(build.snapshot)) == Paths{{"(no path known);A", {1, 32}}});
  }
  SUBCASE("unreachable objects have a frame of their own") {
    build.snapshot.header.live_only = false;
    CHECK(by_path(make_type_tree(build.snapshot)) ==
          Paths{{"(no path known);A", {1, 32}}, {"(not reachable);A", {1, 48}}});
  }
}

TEST_CASE("a snapshot without objects, without edges or without roots still makes a tree") {
  SnapshotBuilder build;
  CHECK(make_type_tree(build.snapshot).nodes.size() == 1);
  build.object(0x1000, build.type("A"), 32);
  build.snapshot.first_edge.clear();
  build.snapshot.edges.clear();
  CHECK(make_type_tree(build.snapshot).nodes[0].retained == 32);
  global(build, "X", 0);
  CHECK(by_path(make_type_tree(build.snapshot)) == Paths{{"static data;X;A", {1, 32}}});
}

}  // namespace heapattach::snapshot
