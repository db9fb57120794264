#include "report/format/export/tree_growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace heapattach {

namespace {

using NodeIndex = TypeTree::NodeIndex;

constexpr NodeIndex kNowhere = 0xffffffff;

std::string_view text_of(const TypeTree& tree, const TypeTree::Node& node) {
  return tree.frames[node.frame];
}

// The bytes of the nodes' own objects, of which matched nodes take theirs.
class Before {
 public:
  explicit Before(const TypeTree& tree) {
    for (NodeIndex i = 0; i < tree.nodes.size(); ++i) {
      const TypeTree::Node& node = tree.nodes[i];
      left_.push_back(node.bytes);
      if (i != 0) children_.emplace(std::pair(node.parent, text_of(tree, node)), i);
    }
  }

  [[nodiscard]] NodeIndex child(NodeIndex parent, std::string_view text) const {
    if (parent == kNowhere) return kNowhere;
    const auto found = children_.find(std::pair(parent, text));
    return found == children_.end() ? kNowhere : found->second;
  }

  // As much as is left there, and at most `bytes`.
  std::uint64_t take(NodeIndex node, std::uint64_t bytes) {
    if (node == kNowhere) return 0;
    const std::uint64_t taken = std::min(left_[node], bytes);
    left_[node] -= taken;
    return taken;
  }

 private:
  std::vector<std::uint64_t> left_;
  std::map<std::pair<NodeIndex, std::string_view>, NodeIndex> children_;
};

// The growth of each node alone, whatever happened to the others of its type.
std::vector<std::uint64_t> grown_apart(const TypeTree& before, const TypeTree& after) {
  Before earlier(before);
  std::vector<NodeIndex> match(after.nodes.size(), kNowhere);
  std::vector<std::uint64_t> grown(after.nodes.size());
  for (NodeIndex i = 0; i < after.nodes.size(); ++i) {
    const TypeTree::Node& node = after.nodes[i];
    match[i] = i == 0 ? 0 : earlier.child(match[node.parent], text_of(after, node));
    grown[i] = node.bytes - earlier.take(match[i], node.bytes);
  }
  return grown;
}

struct TypeSums {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t apart = 0;  // the sum over its nodes

  // The part of `bytes` that is growth of the type.
  [[nodiscard]] std::uint64_t share_of(std::uint64_t bytes) const {
    if (after <= before || apart == 0) return 0;
    const double share = static_cast<double>(after - before) / static_cast<double>(apart);
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(bytes) * std::min(1.0, share)));
  }
};

}  // namespace

TreeGrowth grown_since(const TypeTree& before, const TypeTree& after) {
  TreeGrowth growth{.own = grown_apart(before, after), .all = {}};
  std::unordered_map<std::string_view, TypeSums> types;
  for (const TypeTree::Node& node : before.nodes) types[text_of(before, node)].before += node.bytes;
  for (NodeIndex i = 0; i < after.nodes.size(); ++i) {
    TypeSums& sums = types[text_of(after, after.nodes[i])];
    sums.after += after.nodes[i].bytes;
    sums.apart += growth.own[i];
  }
  for (NodeIndex i = 0; i < after.nodes.size(); ++i) {
    growth.own[i] = types[text_of(after, after.nodes[i])].share_of(growth.own[i]);
  }
  growth.all = growth.own;
  for (auto i = static_cast<NodeIndex>(after.nodes.size()); i-- > 1;) {
    growth.all[after.nodes[i].parent] += growth.all[i];
  }
  return growth;
}

}  // namespace heapattach
