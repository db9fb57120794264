#include "report/analyze/merged_paths.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "attach/base/prefetch.h"
#include "report/model/root_kinds.h"

namespace heapattach::analyze {

namespace {

using analyze::kNone;
using snapshot::ObjectIndex;
using snapshot::TypeIndex;

constexpr std::uint32_t kLongestRepetition = 3;  // steps: list, node with value, tree with buffer
constexpr std::size_t kShownSteps = 12;          // in a summary
constexpr std::size_t kShownStops = 24;          // on a path
constexpr std::size_t kMostNodes = 1U << 20;     // of all paths together

// Whether the type is a node of libstdc++'s maps, sets or lists, which a programmer never names.
bool is_container_node(std::string_view type) {
  constexpr std::string_view kNodes[] = {"std::_Rb_tree_node<", "std::_List_node<",
                                         "std::__cxx11::_List_node<", "std::_Fwd_list_node<",
                                         "std::__detail::_Hash_node<"};
  return std::any_of(std::begin(kNodes), std::end(kNodes),
                     [&](std::string_view node) { return type.starts_with(node); });
}

constexpr std::string_view kBuckets = "_M_h._M_buckets";

// "byId[*]" for the edge "byId._M_t._M_impl._M_header._M_parent"; empty if the edge is not from a
// container.
std::string element_name(std::string_view edge) {
  for (const std::string_view inside :
       {"_M_t._M_impl.", "_M_h._M_", "_M_impl._M_node.", "_M_impl._M_head."}) {
    std::size_t end = edge.find(inside);
    if (end == std::string_view::npos) continue;
    if (end != 0 && edge[end - 1] == '.') --end;
    return std::string(edge.substr(0, end)) + "[*]";
  }
  return {};
}

// Uncollectable objects are roots themselves. One that is part of something is best described by
// its own name: "(static fields of Game.Store)".
std::string root_in_summary(std::string words, const snapshot::Type& type) {
  const bool is_object = words == snapshot::root_kind(snapshot::RootKind::Uncollectable).all;
  return is_object && !type.holder.empty() ? type.name : words;
}

}  // namespace

void MergedPaths::prepare() {
  if (!node_of_.empty()) return;
  node_of_.assign(snapshot_.objects.size(), kNoNode);
  rank_.assign(snapshot_.objects.size(), 0);
  for (std::uint32_t i = 0; i < root_paths_.order.size(); ++i) rank_[root_paths_.order[i]] = i;
}

std::vector<MergedPaths::Group> MergedPaths::group(const std::vector<ObjectIndex>& objects) {
  prepare();
  std::map<NodeIndex, Group> by_node;
  for (const ObjectIndex object : objects) {
    if (root_paths_.leads_to(object)) by_node[node_of(object)].objects.push_back(object);
  }
  std::vector<Group> groups;
  for (auto& [node, group] : by_node) {
    std::sort(group.objects.begin(), group.objects.end(),
              [&](ObjectIndex a, ObjectIndex b) { return rank_[a] < rank_[b]; });
    group.summary = summary_of(node);
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    return std::make_tuple(b.objects.size(), rank_[a.objects[0]]) <
           std::make_tuple(a.objects.size(), rank_[b.objects[0]]);
  });
  return groups;
}

MergedPaths::Main MergedPaths::main_root_path(const std::vector<ObjectIndex>& objects) {
  prepare();
  std::vector<std::uint64_t> count;  // by node
  for (const ObjectIndex object : objects) {
    if (!root_paths_.leads_to(object)) continue;
    const NodeIndex node = node_of(object);
    if (count.size() <= node) count.resize(nodes_.size());
    ++count[node];
  }
  const std::uint64_t most = *std::max_element(count.begin(), count.end());
  ObjectIndex nearest = kNone;
  for (const ObjectIndex object : objects) {
    if (!root_paths_.leads_to(object) || count[node_of(object)] != most) continue;
    if (nearest == kNone || rank_[object] < rank_[nearest]) nearest = object;
  }
  return {nearest, summary_of(node_of(nearest))};
}

// Climbs to the nearest object that already has a node, then descends. It is not recursive, because
// paths are as long as lists.
MergedPaths::NodeIndex MergedPaths::node_of(ObjectIndex object) {
  std::vector<ObjectIndex> climbed;
  for (; node_of_[object] == kNoNode; object = root_paths_.before[object].object) {
    climbed.push_back(object);
    if (root_paths_.before[object].object == kNone) break;
  }
  for (auto at = climbed.rbegin(); at != climbed.rend(); ++at) {
    const analyze::Step before = root_paths_.before[*at];
    const TypeIndex type = snapshot_.objects[*at].type;
    node_of_[*at] = before.object == kNone ? root_node(before.by, type)
                                           : extend(node_of_[before.object],
                                                    names_.kind(before.object, before.by), type);
  }
  return climbed.empty() ? node_of_[object] : node_of_[climbed.front()];
}

MergedPaths::NodeIndex MergedPaths::root_node(std::uint32_t root, TypeIndex type) {
  std::string words = kinds_of_roots_.in_words(snapshot_.roots[roots_[root]]);
  const auto next = static_cast<std::uint32_t>(root_kinds_.size());
  const auto [at, is_new] = root_kind_numbers_.try_emplace(std::move(words), next);
  if (is_new) root_kinds_.push_back(at->first);
  return find_or_add({kNoNode, at->second, type, false, 0});
}

// All nodes of a list or tree share one path, whichever edges lead to them.
MergedPaths::NodeIndex MergedPaths::extend_alike(NodeIndex before, std::uint32_t kind) {
  NodeIndex node = before;
  if (nodes_[before].is_between_alike) {
    nodes_[before].is_repeated = true;
  } else {
    node = find_or_add({before, 0, nodes_[before].type, false, nodes_[before].depth + 1, true});
  }
  ways_[node].insert(names_.kind_name(kind));
  return node;
}

MergedPaths::NodeIndex MergedPaths::extend_container(NodeIndex before,
                                                     std::uint32_t kind,
                                                     TypeIndex type) {
  const Node& from = nodes_[before];
  if (from.type == type) return before;
  const bool has_buckets = from.before != kNoNode && !from.is_between_alike &&
                           names_.kind_name(from.kind).ends_with(kBuckets);
  if (has_buckets) {
    before = from.before;
    kind = from.kind;
  }
  std::string element = element_name(names_.kind_name(kind));
  if (!element.empty()) kind = names_.kind_of_name(std::move(element));
  return find_or_add({before, kind, type, false, nodes_[before].depth + 1});
}

MergedPaths::NodeIndex MergedPaths::extend(NodeIndex before, std::uint32_t kind, TypeIndex type) {
  const snapshot::Type& to = snapshot_.types[type];
  if (is_container_node(to.name)) return extend_container(before, kind, type);
  if (nodes_[before].type == type && to.is_known()) return extend_alike(before, kind);
  const Node step{before, kind, type, false, nodes_[before].depth + 1};
  for (std::uint32_t period = 1; period <= kLongestRepetition; ++period) {
    // Whether the last `period` steps, including this one, repeat those before them.
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

MergedPaths::NodeIndex MergedPaths::find_or_add(const Node& node) {
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

std::string MergedPaths::step_of(NodeIndex node) const {
  const Node& at = nodes_[node];
  if (at.before == kNoNode) return root_kinds_[at.kind];
  if (!at.is_between_alike) return names_.kind_name(at.kind);
  std::string ways;
  for (const std::string& way : ways_.at(node)) ways += (ways.empty() ? "" : "/") + way;
  return ways;
}

std::string MergedPaths::summary_of(NodeIndex node) const {
  std::vector<std::string> steps;
  for (; node != kNoNode; node = nodes_[node].before) {
    const Node& at = nodes_[node];
    std::string text = step_of(node);
    if (at.before == kNoNode) text = root_in_summary(std::move(text), snapshot_.types[at.type]);
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

// Remembers the nodes that the latest steps reached: neighbours in path order mostly take the same
// step.
class MergedPaths::Memo {
 public:
  struct Key {
    NodeIndex before = kNoNode;
    std::uint32_t word = 0;
    TypeIndex type = 0;
    std::uint32_t size_class = 0;  // of the previous object: its edges' names may depend on that
    bool operator==(const Key&) const = default;
  };

  // The node that this step reaches. The caller fills it in if it is unknown.
  NodeIndex& after(const Key& key) {
    const std::uint64_t hash =
        (std::uint64_t{key.before} << 32 | key.word) * 0x9e3779b97f4a7c15U ^
        (std::uint64_t{key.type} << 32 | key.size_class) * 0xc2b2ae3d27d4eb4fU;
    Entry& entry = entries_[hash >> 50];
    if (entry.key != key) entry = {key, kNoNode};
    return entry.node;
  }

 private:
  struct Entry {
    Key key;
    NodeIndex node = kNoNode;
  };
  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << 14);
};

std::vector<MergedPaths::Merged> MergedPaths::group_all(std::size_t most_of_a_type) {
  std::vector<Merged> by_node;
  Memo memo;
  prepare();
  for (std::size_t i = 0; i < root_paths_.order.size(); ++i) {
    look_ahead(i);
    const ObjectIndex object = root_paths_.order[i];
    const NodeIndex node = place_next(object, memo);
    if (node == kNoNode) continue;
    if (by_node.size() <= node) by_node.resize(nodes_.size());
    Merged& merged = by_node[node];
    if (merged.objects++ == 0) merged.nearest = object;
    merged.bytes += snapshot_.bytes_of(snapshot_.objects[object]);
  }
  return choose(std::move(by_node), most_of_a_type);
}

// Fetches later objects ahead, because the data about them and their predecessors is scattered in
// memory.
void MergedPaths::look_ahead(std::size_t i) const {
  constexpr std::size_t kStep = 8;
  const std::span order(root_paths_.order);
  if (order.size() - i <= 2 * kStep) return;
  const ObjectIndex later = order[i + 2 * kStep];
  prefetch(&root_paths_.before[later]);
  prefetch(&snapshot_.objects[later]);
  prefetch(&node_of_[later]);
  const ObjectIndex before = root_paths_.before[order[i + kStep]].object;
  if (before == kNone) return;
  prefetch(&snapshot_.objects[before]);
  prefetch(&node_of_[before]);
}

MergedPaths::NodeIndex MergedPaths::place_next(ObjectIndex object, Memo& memo) {
  const analyze::Step before = root_paths_.before[object];
  const TypeIndex type = snapshot_.objects[object].type;
  if (before.object == kNone) return node_of_[object] = root_node(before.by, type);
  const NodeIndex from = node_of_[before.object];
  if (from == kNoNode) return kNoNode;
  const std::uint32_t size_class = snapshot_.objects[before.object].size_class;
  NodeIndex& known = memo.after({from, before.by, type, size_class});
  if (known == kNoNode && nodes_.size() < kMostNodes) {
    known = extend(from, names_.kind(before.object, before.by), type);
  }
  return node_of_[object] = known;
}

std::vector<MergedPaths::Merged> MergedPaths::choose(std::vector<Merged> by_node,
                                                     std::size_t most_of_a_type) const {
  std::vector<NodeIndex> order;
  for (NodeIndex node = 0; node < by_node.size(); ++node) {
    by_node[node].type = nodes_[node].type;
    if (by_node[node].objects != 0) order.push_back(node);
  }
  std::sort(order.begin(), order.end(), [&](NodeIndex a, NodeIndex b) {
    return std::tuple(by_node[a].type, by_node[b].objects, a) <
           std::tuple(by_node[b].type, by_node[a].objects, b);
  });
  std::vector<Merged> chosen;
  std::size_t of_type = 0;
  for (const NodeIndex node : order) {
    of_type = chosen.empty() || chosen.back().type != nodes_[node].type ? 1 : of_type + 1;
    if (of_type > most_of_a_type) continue;
    chosen.push_back(std::move(by_node[node]));
    chosen.back().stops = stops_to(node);
  }
  return chosen;
}

std::vector<MergedPaths::Stop> MergedPaths::stops_to(NodeIndex node) const {
  std::vector<NodeIndex> line;
  for (; node != kNoNode; node = nodes_[node].before) line.push_back(node);
  std::reverse(line.begin(), line.end());
  std::vector<Stop> stops;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_cut =
        line.size() > kShownStops && i >= kShownStops / 2 && i < line.size() - kShownStops / 2;
    const Node& at = nodes_[line[i]];
    if (!is_cut) {
      stops.push_back({step_of(line[i]), at.type, at.is_repeated, 0});
    } else if (i == kShownStops / 2) {
      stops.push_back({{}, 0, false, static_cast<std::uint32_t>(line.size() - kShownStops)});
    }
  }
  return stops;
}

}  // namespace heapattach::analyze
