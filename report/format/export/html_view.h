#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/suspects.h"
#include "report/format/export/html_objects.h"
#include "report/format/export/type_tree.h"
#include "report/model/counts.h"
#include "report/model/model.h"

// The data of a page. It does not include every object, only what the page's views need, computed
// in a few walks over the heap, two at a time.
namespace heapattach {

// Numbers types, locations and variables. Those with a row come first, in row order.
using NameIndex = std::uint32_t;

struct HtmlView {
  static constexpr std::size_t kMostRows = 4000;
  static constexpr std::size_t kMostNodes = 20000;  // of the tree
  static constexpr std::size_t kMostRootPaths = 5;  // to the objects of one type
  static constexpr std::size_t kMostLinks = 20000;
  static constexpr std::size_t kMostObjects = 400;  // objects that can be inspected

  // The objects of one name that objects of another name hold directly: without their holders, they
  // would be freed.
  struct Link {
    NameIndex holder = 0;
    NameIndex held = 0;
    std::uint64_t objects = 0;  // number of held objects
    std::uint64_t bytes = 0;
    std::uint64_t retained = 0;
  };
  // A node of the tree; its parent is an index among the kept nodes.
  struct Node {
    std::uint32_t parent = 0;
    NameIndex name = 0;
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    std::uint64_t retained = 0;
    std::uint64_t grown = 0;      // since the earlier snapshot, including all child nodes
    std::uint64_t own_grown = 0;  // … of its own objects
  };
  // The bytes that only the stack of this thread or fiber retains.
  struct Stack {
    std::uint64_t id = 0;  // the thread id, or the fiber's address
    std::uint64_t retained = 0;
  };

  snapshot::CountTable counts;  // its rows by bytes, with retained bytes
  std::uint64_t left_out_rows = 0;
  std::uint64_t left_out_objects = 0;
  std::uint64_t left_out_bytes = 0;
  std::vector<std::string> names;       // safe to show
  std::vector<NameIndex> name_of_type;  // by snapshot::TypeIndex
  std::vector<NameIndex> own;           // rows of types that are the program's own
  bool has_edges = false;               // and roots; otherwise the members below are empty
  std::vector<Node> tree;               // each after its parent
  bool has_growth = false;              // the nodes have their growth
  std::vector<Link> links;              // the largest first
  std::vector<analyze::MergedPaths::Merged> root_paths;
  analyze::Suspects suspects;
  std::vector<InspectedObject> objects;  // by address
  std::vector<Stack> threads;
  std::vector<Stack> fibers;
};

// The parts of a page that are shown in addition to the snapshot's own views.
struct HtmlWishes {
  std::vector<snapshot::ObjectIndex> objects;   // to inspect, in addition to those that it chooses
  const snapshot::Snapshot* earlier = nullptr;  // with edges and roots: shows growth since then
};

// Fails only if the deadline passes.
Result<HtmlView> make_html_view(const snapshot::Snapshot& snapshot,
                                HtmlWishes wishes,
                                const Deadline& deadline);

}  // namespace heapattach
