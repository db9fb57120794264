#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/analyze/edge_names.h"
#include "report/analyze/roots.h"
#include "report/analyze/ways.h"
#include "report/model/model.h"

// The shortest ways to many objects, those that read alike as one: elements of an array are one
// element, all stacks are one, and the links of a list, whose ways grow by the same one to three
// steps again and again, are that step "repeated".
namespace heapattach::analyze {

class MergedWays {
 public:
  // `roots` are the numbers of Snapshot::roots by those of the graph that `ways` are of.
  MergedWays(const snapshot::Snapshot& snapshot,
             const analyze::ShortestWays& ways,
             const std::vector<std::uint32_t>& roots,
             EdgeNames& names)
      : snapshot_(snapshot), ways_(ways), roots_(roots), names_(names), kinds_of_roots_(snapshot) {}

  struct Group {
    std::vector<snapshot::ObjectIndex> objects;  // nearest first
    std::string summary;                         // "CACHE → @h → @entries → [*].value"
  };
  // Those of `objects` that a root leads to, by how; groups of many objects first.
  [[nodiscard]] std::vector<Group> group(const std::vector<snapshot::ObjectIndex>& objects);

  // Of the first of these groups, its nearest object.
  struct Main {
    snapshot::ObjectIndex nearest = 0;
    std::string summary;
  };
  // A root must lead to one of `objects` at least.
  [[nodiscard]] Main main_way(const std::vector<snapshot::ObjectIndex>& objects);

  // One object on a way that stands for many, or a gap where a long way was cut.
  struct Stop {
    std::string by;  // the kind of edge that leads here; of the first the root, in words
    snapshot::TypeIndex type = 0;
    bool is_repeated = false;
    std::uint32_t left_out = 0;  // of a gap: how many stops it stands for; 0: it is none
  };
  // The objects of one type that one way stands for.
  struct Merged {
    snapshot::TypeIndex type = 0;
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    snapshot::ObjectIndex nearest = 0;
    std::vector<Stop> stops;
  };
  // All that roots lead to, by type and way: for each type at most so many ways, those of most
  // objects first. Of a heap with millions of ways, the shorter ones.
  [[nodiscard]] std::vector<Merged> group_all(std::size_t most_of_a_type);

 private:
  using NodeIndex = std::uint32_t;
  // A way that ends in a step: by which kind of edge, to which type. The first of a way stands for
  // its root and leads to the object that this holds.
  struct Node {
    NodeIndex before = 0;
    std::uint32_t kind = 0;  // of EdgeNames; of a root, of root_kinds_
    snapshot::TypeIndex type = 0;
    bool is_repeated = false;  // the way may go on from here as often as it likes
    std::uint32_t depth = 0;

    [[nodiscard]] bool is_same_step(const Node& other) const {
      return kind == other.kind && type == other.type;
    }
  };
  static constexpr NodeIndex kNoNode = 0xffffffff;
  class Memo;

  void prepare();
  [[nodiscard]] NodeIndex node_of(snapshot::ObjectIndex object);
  [[nodiscard]] NodeIndex root_node(std::uint32_t root, snapshot::TypeIndex type);
  [[nodiscard]] NodeIndex extend(NodeIndex before, std::uint32_t kind, snapshot::TypeIndex type);
  [[nodiscard]] NodeIndex find_or_add(const Node& node);
  [[nodiscard]] std::string summary_of(NodeIndex node) const;
  [[nodiscard]] std::vector<Stop> stops_to(NodeIndex node) const;
  // Of objects in the order of ways. kNoNode where there are too many.
  NodeIndex place_next(snapshot::ObjectIndex object, Memo& memo);
  [[nodiscard]] std::vector<Merged> choose(std::vector<Merged> by_node,
                                           std::size_t most_of_a_type) const;

  const snapshot::Snapshot& snapshot_;
  const analyze::ShortestWays& ways_;
  const std::vector<std::uint32_t>& roots_;
  EdgeNames& names_;
  RootKinds kinds_of_roots_;
  std::vector<Node> nodes_;
  std::unordered_multimap<std::uint64_t, NodeIndex> by_step_;
  std::vector<NodeIndex> node_of_;   // by object; empty: nobody asked yet
  std::vector<std::uint32_t> rank_;  // by object: as the how manieth a way leads to it
  std::vector<std::string> root_kinds_;
  std::unordered_map<std::string, std::uint32_t> root_kind_numbers_;
};

}  // namespace heapattach::analyze
