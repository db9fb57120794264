#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/analyze/edge_names.h"
#include "report/analyze/root_paths.h"
#include "report/analyze/roots.h"
#include "report/model/model.h"

// The shortest paths to many objects, with similar ones merged: all elements of an array count as
// one element, all stacks count as one stack, and the links of a list, whose paths repeat the same
// one to three steps, become one "repeated" step.
namespace heapattach::analyze {

// A merged path, and how many objects it reaches.
struct OtherPath {
  std::uint64_t objects = 0;
  std::string summary;  // "global CACHE → @h → @entries → [*].value"
};

class MergedPaths {
 public:
  // `roots` maps the graph's roots to the numbers of Snapshot::roots.
  MergedPaths(const snapshot::Snapshot& snapshot,
              const analyze::ShortestPaths& root_paths,
              const std::vector<std::uint32_t>& roots,
              EdgeNames& names)
      : snapshot_(snapshot),
        root_paths_(root_paths),
        roots_(roots),
        names_(names),
        kinds_of_roots_(snapshot) {}

  struct Group {
    std::vector<snapshot::ObjectIndex> objects;  // nearest first
    std::string summary;                         // "CACHE → @h → @entries → [*].value"
  };
  // Groups the reachable objects among `objects` by path, the largest groups first.
  [[nodiscard]] std::vector<Group> group(const std::vector<snapshot::ObjectIndex>& objects);

  // The nearest object of the largest group.
  struct Main {
    snapshot::ObjectIndex nearest = 0;
    std::string summary;
  };
  // At least one of `objects` must be reachable.
  [[nodiscard]] Main main_root_path(const std::vector<snapshot::ObjectIndex>& objects);

  // One object on a merged path, or a gap in a long path.
  struct Stop {
    std::string by;  // the kind of the edge to the object; in the first stop, the root in words
    snapshot::TypeIndex type = 0;
    bool is_repeated = false;
    std::uint32_t left_out = 0;  // the number of stops that a gap omits; 0: this is not a gap
  };
  // The objects of one type that share a merged path.
  struct Merged {
    snapshot::TypeIndex type = 0;
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    snapshot::ObjectIndex nearest = 0;
    std::vector<Stop> stops;
  };
  // Groups all reachable objects by type and path, the largest groups first, with at most
  // `most_of_a_type` paths for each type. In a heap with millions of paths, only the shorter paths
  // are covered.
  [[nodiscard]] std::vector<Merged> group_all(std::size_t most_of_a_type);

 private:
  using NodeIndex = std::uint32_t;
  // A path, represented by its last step: the kind of edge and the type that it leads to. The first
  // node of a path represents its root and the object that the root references.
  struct Node {
    NodeIndex before = 0;
    std::uint32_t kind = 0;  // a kind of EdgeNames; in the first node, an index into root_kinds_
    snapshot::TypeIndex type = 0;
    bool is_repeated = false;  // the path may repeat from here any number of times
    std::uint32_t depth = 0;
    bool is_between_alike = false;  // from an object of the same type; `kind` has no meaning

    [[nodiscard]] bool is_same_step(const Node& other) const {
      return kind == other.kind && type == other.type && is_between_alike == other.is_between_alike;
    }
  };
  static constexpr NodeIndex kNoNode = 0xffffffff;
  class Memo;

  void prepare();
  [[nodiscard]] NodeIndex node_of(snapshot::ObjectIndex object);
  [[nodiscard]] NodeIndex root_node(std::uint32_t root, snapshot::TypeIndex type);
  [[nodiscard]] NodeIndex extend(NodeIndex before, std::uint32_t kind, snapshot::TypeIndex type);
  [[nodiscard]] NodeIndex extend_alike(NodeIndex before, std::uint32_t kind);
  [[nodiscard]] NodeIndex extend_container(NodeIndex before,
                                           std::uint32_t kind,
                                           snapshot::TypeIndex type);
  [[nodiscard]] NodeIndex find_or_add(const Node& node);
  [[nodiscard]] std::string step_of(NodeIndex node) const;
  [[nodiscard]] std::string summary_of(NodeIndex node) const;
  [[nodiscard]] std::vector<Stop> stops_to(NodeIndex node) const;
  void look_ahead(std::size_t i) const;
  // Must be called with objects in path order. Returns kNoNode if there are too many nodes.
  NodeIndex place_next(snapshot::ObjectIndex object, Memo& memo);
  [[nodiscard]] std::vector<Merged> choose(std::vector<Merged> by_node,
                                           std::size_t most_of_a_type) const;

  const snapshot::Snapshot& snapshot_;
  const analyze::ShortestPaths& root_paths_;
  const std::vector<std::uint32_t>& roots_;
  EdgeNames& names_;
  RootKinds kinds_of_roots_;
  std::vector<Node> nodes_;
  // The names of the edges between nodes of one type, by the node that represents these steps.
  std::unordered_map<NodeIndex, std::set<std::string>> ways_;
  std::unordered_multimap<std::uint64_t, NodeIndex> by_step_;
  FlatArray<NodeIndex> node_of_;   // by object; empty: not computed yet
  FlatArray<std::uint32_t> rank_;  // by object: rank in shortest-path order
  std::vector<std::string> root_kinds_;
  std::unordered_map<std::string, std::uint32_t> root_kind_numbers_;
};

}  // namespace heapattach::analyze
