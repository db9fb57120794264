#include "report/explain/merged_ways.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "report/explain/roots.h"

namespace heapattach::explain {

namespace {

using graph::kNone;
using snapshot::ObjectIndex;
using snapshot::TypeIndex;

constexpr std::uint32_t kLongestRepetition = 3;  // steps: list, node with value, tree with buffer
constexpr std::size_t kShownSteps = 12;          // of a summary

}  // namespace

std::vector<MergedWays::Group> MergedWays::group(const std::vector<ObjectIndex>& objects) {
  node_of_.assign(snapshot_.objects.size(), kNoNode);
  std::map<NodeIndex, Group> by_node;
  for (const ObjectIndex object : objects) {
    if (ways_.leads_to(object)) by_node[node_of(object)].objects.push_back(object);
  }
  std::vector<std::uint32_t> rank(snapshot_.objects.size());
  for (std::uint32_t i = 0; i < ways_.order.size(); ++i) rank[ways_.order[i]] = i;
  std::vector<Group> groups;
  for (auto& [node, group] : by_node) {
    std::sort(group.objects.begin(), group.objects.end(),
              [&](ObjectIndex a, ObjectIndex b) { return rank[a] < rank[b]; });
    group.summary = summary_of(node);
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    return std::make_tuple(b.objects.size(), rank[a.objects[0]]) <
           std::make_tuple(a.objects.size(), rank[b.objects[0]]);
  });
  return groups;
}

// Climbs to what has its node already, and then comes down: ways are as long as lists.
MergedWays::NodeIndex MergedWays::node_of(ObjectIndex object) {
  std::vector<ObjectIndex> climbed;
  for (; node_of_[object] == kNoNode; object = ways_.before[object].object) {
    climbed.push_back(object);
    if (ways_.before[object].object == kNone) break;
  }
  for (auto at = climbed.rbegin(); at != climbed.rend(); ++at) {
    const graph::Step before = ways_.before[*at];
    const TypeIndex type = snapshot_.objects[*at].type;
    node_of_[*at] = before.object == kNone ? root_node(before.by, type)
                                           : extend(node_of_[before.object],
                                                    names_.kind(before.object, before.by), type);
  }
  return climbed.empty() ? node_of_[object] : node_of_[climbed.front()];
}

MergedWays::NodeIndex MergedWays::root_node(std::uint32_t root, TypeIndex type) {
  std::string words = root_kind_in_words(snapshot_.roots[roots_[root]]);
  const auto next = static_cast<std::uint32_t>(root_kinds_.size());
  const auto [at, is_new] = root_kind_numbers_.try_emplace(std::move(words), next);
  if (is_new) root_kinds_.push_back(at->first);
  return find_or_add({kNoNode, at->second, type, false, 0});
}

MergedWays::NodeIndex MergedWays::extend(NodeIndex before, std::uint32_t kind, TypeIndex type) {
  const Node step{before, kind, type, false, nodes_[before].depth + 1};
  for (std::uint32_t period = 1; period <= kLongestRepetition; ++period) {
    // Whether the last `period` steps, this one included, are those before them once more.
    if (step.depth < 2 * period) break;
    const Node* late = &step;
    NodeIndex early = before;
    for (std::uint32_t i = 1; i < period; ++i) early = nodes_[early].before;
    const NodeIndex repeated = early;
    std::uint32_t same = 0;
    while (same < period && late->is_same_step(nodes_[early])) {
      late = &nodes_[late->before];
      early = nodes_[early].before;
      ++same;
    }
    if (same < period) continue;
    nodes_[repeated].is_repeated = true;
    return repeated;
  }
  return find_or_add(step);
}

MergedWays::NodeIndex MergedWays::find_or_add(const Node& node) {
  const std::uint64_t key = (std::uint64_t{node.before} * 0x9e3779b97f4a7c15U) ^
                            (std::uint64_t{node.kind} << 32 | node.type);
  const auto [first, last] = by_step_.equal_range(key);
  for (auto at = first; at != last; ++at) {
    const Node& known = nodes_[at->second];
    if (known.before == node.before && known.is_same_step(node)) return at->second;
  }
  const auto made = static_cast<NodeIndex>(nodes_.size());
  nodes_.push_back(node);
  by_step_.emplace(key, made);
  return made;
}

std::string MergedWays::summary_of(NodeIndex node) const {
  std::vector<std::string> steps;
  for (; node != kNoNode; node = nodes_[node].before) {
    const Node& at = nodes_[node];
    std::string text = at.before == kNoNode ? root_kinds_[at.kind] : names_.kind_name(at.kind);
    if (at.is_repeated) text += "…";
    steps.push_back(std::move(text));
  }
  std::string summary;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const std::size_t number = steps.size() - 1 - i;  // from the root
    if (steps.size() > kShownSteps && number == kShownSteps / 2) summary += " → …";
    const bool is_hidden =
        steps.size() > kShownSteps && number >= kShownSteps / 2 && i >= kShownSteps / 2;
    if (is_hidden) continue;
    if (!summary.empty()) summary += " → ";
    summary += steps[i];
  }
  return summary;
}

}  // namespace heapattach::explain
