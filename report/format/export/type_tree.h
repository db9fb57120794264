#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/analyze/dominators.h"
#include "report/format/export/rooted_graph.h"
#include "report/model/model.h"

// Who holds the memory, as a tree small enough for a picture: the tree of dominators with all
// objects of one type under one holder put together.
//
// An object stands below what dominates it, that is what would have to go for it to go: a variable,
// a stack, another object. What several roots hold independently stands below "(several roots)".
// An object whose type occurs above it already counts there, so that a list of a million nodes, or
// a tree, is one frame and not a million, and no path is longer than the number of types; one that
// is deeper than kDeepest all the same stands in a frame "(deeper)". Each object counted by the
// snapshot is counted once.
namespace heapattach {

struct TypeTree {
  using NodeIndex = std::uint32_t;
  using FrameIndex = std::uint32_t;

  struct Node {
    NodeIndex parent = 0;
    FrameIndex frame = 0;
    std::uint32_t depth = 0;     // 0 for the whole
    std::uint64_t objects = 0;   // without those of nodes below
    std::uint64_t bytes = 0;     // of these
    std::uint64_t retained = 0;  // and of all below
  };

  static constexpr std::uint32_t kDeepest = 128;

  std::vector<std::string> frames;  // safe to show; [0] is for the whole
  std::vector<Node> nodes;          // [0] is the whole; each behind its parent

  std::vector<FrameIndex> frame_of_type;   // by snapshot::TypeIndex
  std::vector<FrameIndex> frame_of_label;  // of the rooted graph

  // The frames from below the whole to the node, the outermost first.
  [[nodiscard]] std::vector<FrameIndex> path_to(NodeIndex node) const;
};

[[nodiscard]] TypeTree make_type_tree(const snapshot::Snapshot& snapshot);
// The same of dominators that were found already, of that graph of the snapshot.
[[nodiscard]] TypeTree make_type_tree(const snapshot::Snapshot& snapshot,
                                      const RootedGraph& graph,
                                      const analyze::Dominators& dominators);

}  // namespace heapattach
