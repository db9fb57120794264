#include "report/format/export/type_tree.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "attach/base/flat_array.h"
#include "attach/base/prefetch.h"
#include "report/short_names.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::ObjectIndex;
using snapshot::Snapshot;
using FrameIndex = TypeTree::FrameIndex;
using NodeIndex = TypeTree::NodeIndex;

constexpr NodeIndex kNowhere = 0xffffffff;

class TreeMaker {
 public:
  TreeMaker(const Snapshot& snapshot,
            const RootedGraph& graph,
            const analyze::Dominators& dominators)
      : snapshot_(snapshot), graph_(graph), dominators_(dominators) {
    tree_.frames.emplace_back("all");
    tree_.nodes.emplace_back();
    for (const snapshot::Type& type : snapshot.types) {
      tree_.frame_of_type.push_back(frame(terminal_text(shown_type_name(type.name))));
    }
    deeper_ = new_frame("(deeper)");
  }

  TypeTree make() && {
    place_what_roots_lead_to();
    count();
    for (NodeIndex node = static_cast<NodeIndex>(tree_.nodes.size()) - 1; node > 0; --node) {
      tree_.nodes[node].retained += tree_.nodes[node].bytes;
      tree_.nodes[tree_.nodes[node].parent].retained += tree_.nodes[node].retained;
    }
    return std::move(tree_);
  }

 private:
  FrameIndex new_frame(std::string text) {
    tree_.frames.push_back(std::move(text));
    return static_cast<FrameIndex>(tree_.frames.size() - 1);
  }
  FrameIndex frame(std::string text) {
    const auto [at, is_new] = frames_.try_emplace(std::move(text), 0);
    if (is_new) at->second = new_frame(at->first);
    return at->second;
  }

  NodeIndex add(NodeIndex parent, FrameIndex frame) {
    tree_.nodes.push_back({parent, frame, tree_.nodes[parent].depth + 1, 0, 0, 0});
    return static_cast<NodeIndex>(tree_.nodes.size() - 1);
  }

  // The node for an object of this frame whose dominator counts at `parent`.
  NodeIndex find_or_add(NodeIndex parent, FrameIndex frame) {
    for (NodeIndex at = parent; at != 0; at = tree_.nodes[at].parent) {
      if (tree_.nodes[at].frame == frame) return at;
    }
    if (tree_.nodes[parent].depth < TypeTree::kDeepest) return add(parent, frame);
    return frame == deeper_ ? add(parent, frame) : below(parent, deeper_);
  }
  NodeIndex below(NodeIndex parent, FrameIndex frame) {
    if (tree_.nodes[parent].frame == frame || tree_.nodes[parent].frame == deeper_) return parent;
    const std::uint64_t key = std::uint64_t{parent} << 32 | frame;
    if (key == last_key_) return last_node_;
    const auto known = below_.find(key);
    const NodeIndex node = known != below_.end() ? known->second : find_or_add(parent, frame);
    if (known == below_.end()) below_.emplace(key, node);
    last_key_ = key;
    last_node_ = node;
    return node;
  }

  NodeIndex special(NodeIndex& node, const char* text) {
    if (node == kNowhere) node = add(0, new_frame(text));
    return node;
  }

  void place_what_roots_lead_to() {
    node_of_.assign(graph_.size(), kNowhere);
    for (const std::string& label : graph_.labels) {
      tree_.frame_of_label.push_back(new_frame(label));
    }
    for (std::size_t i = 0; i < dominators_.order.size(); ++i) {
      look_ahead(i);
      const ObjectIndex at = dominators_.order[i];
      const ObjectIndex by = dominators_.of[at];
      if (at >= graph_.objects) {
        node_of_[at] =
            add(by == analyze::kNone ? 0 : node_of_[by], tree_.frame_of_label[at - graph_.objects]);
      } else {
        const NodeIndex above =
            by == analyze::kNone ? special(several_, "(several roots)") : node_of_[by];
        node_of_[at] = below(above, tree_.frame_of_type[snapshot_.objects[at].type]);
      }
    }
  }

  // The objects come in an order of their own, so what is needed of them is scattered.
  void look_ahead(std::size_t i) const {
    constexpr std::size_t kStep = 8;
    const std::span order(dominators_.order);
    if (order.size() - i <= 2 * kStep) return;
    const ObjectIndex later = order[i + 2 * kStep];
    prefetch(&dominators_.of[later]);
    prefetch(&node_of_[later]);
    if (later < graph_.objects) prefetch(&snapshot_.objects[later]);
    const ObjectIndex by = dominators_.of[order[i + kStep]];
    if (by != analyze::kNone) prefetch(&node_of_[by]);
  }

  void count() {
    for (ObjectIndex i = 0; i < snapshot_.objects.size(); ++i) {
      const snapshot::Object& object = snapshot_.objects[i];
      if (!is_counted(snapshot_, object)) continue;
      NodeIndex node = object.is_reachable != 0 ? node_of_[i] : kNowhere;
      if (node == kNowhere) {
        const NodeIndex above = object.is_reachable != 0 ? special(pathless_, "(no path known)")
                                                         : special(dead_, "(not reachable)");
        node = below(above, tree_.frame_of_type[object.type]);
      }
      tree_.nodes[node].objects += 1;
      tree_.nodes[node].bytes += snapshot_.bytes_of(object);
    }
  }

  const Snapshot& snapshot_;
  const RootedGraph& graph_;
  const analyze::Dominators& dominators_;
  TypeTree tree_;
  std::unordered_map<std::string, FrameIndex> frames_;  // of types
  FrameIndex deeper_ = 0;
  std::unordered_map<std::uint64_t, NodeIndex> below_;  // by node and frame
  std::uint64_t last_key_ = ~std::uint64_t{0};
  NodeIndex last_node_ = 0;
  NodeIndex several_ = kNowhere;
  NodeIndex dead_ = kNowhere;
  NodeIndex pathless_ = kNowhere;
  FlatArray<NodeIndex> node_of_;  // by number in the graph
};

}  // namespace

std::vector<FrameIndex> TypeTree::path_to(NodeIndex node) const {
  std::vector<FrameIndex> path;
  for (; node != 0; node = nodes[node].parent) path.push_back(nodes[node].frame);
  std::reverse(path.begin(), path.end());
  return path;
}

TypeTree make_type_tree(const Snapshot& snapshot) {
  const RootedGraph graph(snapshot);
  return make_type_tree(snapshot, graph, find_dominators(graph.view()));
}

TypeTree make_type_tree(const Snapshot& snapshot,
                        const RootedGraph& graph,
                        const analyze::Dominators& dominators) {
  return TreeMaker(snapshot, graph, dominators).make();
}

}  // namespace heapattach
