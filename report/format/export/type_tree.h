#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/analyze/dominators.h"
#include "report/format/export/rooted_graph.h"
#include "report/model/model.h"

// Shows what holds the memory as a tree small enough for a picture: the dominator tree, with all
// objects of one type under one holder merged.
//
// An object is below its dominator, which must be freed before it can be freed: a variable, a
// stack, or another object. Objects that several roots hold independently are below "(several
// roots)". An object whose type already occurs above it is counted there, so that a list of a
// million nodes is one frame instead of a million, and no path is longer than the number of types.
// Anything deeper than kDeepest is in a frame "(deeper)". Each object of the snapshot is counted
// exactly once.
namespace heapattach {

struct TypeTree {
  using NodeIndex = std::uint32_t;
  using FrameIndex = std::uint32_t;

  struct Node {
    NodeIndex parent = 0;
    FrameIndex frame = 0;
    std::uint32_t depth = 0;     // 0 for the root of the tree
    std::uint64_t objects = 0;   // without those of child nodes
    std::uint64_t bytes = 0;     // of these
    std::uint64_t retained = 0;  // including all child nodes
  };

  static constexpr std::uint32_t kDeepest = 128;

  std::vector<std::string> frames;  // safe to show; [0] is the whole
  std::vector<Node> nodes;          // [0] is the whole; each after its parent

  std::vector<FrameIndex> frame_of_type;   // by snapshot::TypeIndex
  std::vector<FrameIndex> frame_of_label;  // of the rooted graph

  // The frames from below the root of the tree to the node, outermost first.
  [[nodiscard]] std::vector<FrameIndex> path_to(NodeIndex node) const;
};

[[nodiscard]] TypeTree make_type_tree(const snapshot::Snapshot& snapshot);
// Makes the tree if the dominators of the graph are already known.
[[nodiscard]] TypeTree make_type_tree(const snapshot::Snapshot& snapshot,
                                      const RootedGraph& graph,
                                      const analyze::Dominators& dominators);

}  // namespace heapattach
