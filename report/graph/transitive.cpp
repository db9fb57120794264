// A walk from each type would take types times edges. Instead the strongly connected parts of the
// graph are found once (R. Tarjan, 1972, without recursion), which comes with an order in which a
// part stands behind all that it leads to. Along that order, from the front of the graph to its
// end, a word of 64 bits flows over each edge: which of 64 types lead here. So the edges are walked
// once for each 64 types that have objects.

#include "report/graph/transitive.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heapattach::graph {

namespace {

constexpr std::uint32_t kUnseen = 0xffffffff;

// The parts in which each object leads to each other one.
struct Parts {
  std::vector<std::uint32_t> of;     // by object; kUnseen if no root leads to it
  std::vector<ObjectIndex> objects;  // grouped by part; a part stands behind all it leads to
};

class PartFinder {
 public:
  explicit PartFinder(const Graph& graph) : graph_(graph) {
    low_.assign(graph.size(), kUnseen);
    found_.of.assign(graph.size(), kUnseen);
  }

  Parts run() && {
    for (const ObjectIndex root : graph_.roots) {
      if (low_[root] == kUnseen) enter(root);
      while (!open_.empty()) step();
    }
    return std::move(found_);
  }

 private:
  struct Open {
    ObjectIndex object = 0;
    std::uint32_t next = 0;    // of its edges
    std::uint32_t number = 0;  // in the order of entering
  };

  void enter(ObjectIndex object) {
    low_[object] = entered_;
    open_.push_back({object, 0, entered_++});
    waiting_.push_back(object);
  }

  void step() {
    Open& open = open_.back();
    const auto edges = graph_.from(open.object);
    while (open.next < edges.size()) {
      const ObjectIndex to = edges[open.next].to;
      if (low_[to] == kUnseen) {
        enter(to);  // and come back to this edge when it is done
        return;
      }
      if (found_.of[to] == kUnseen) low_[open.object] = std::min(low_[open.object], low_[to]);
      ++open.next;
    }
    if (low_[open.object] == open.number) close_part(open.object);
    open_.pop_back();
  }

  void close_part(ObjectIndex first) {
    for (ObjectIndex object = kNone; object != first;) {
      object = waiting_.back();
      waiting_.pop_back();
      found_.of[object] = parts_;
      found_.objects.push_back(object);
    }
    ++parts_;
  }

  const Graph& graph_;
  Parts found_;
  std::vector<std::uint32_t> low_;  // by object: the first entered that is known to be in its part
  std::vector<Open> open_;
  std::vector<ObjectIndex> waiting_;  // entered, and their part is not complete
  std::uint32_t entered_ = 0;
  std::uint32_t parts_ = 0;
};

class Flow {
 public:
  Flow(const Graph& graph, const Parts& parts, std::span<const snapshot::TypeIndex> types)
      : graph_(graph), parts_(parts), types_(types) {}

  // Adds to `sums` for the types whose bit number `bit_of` gives; others have none (64 or more).
  void run(std::span<const std::uint32_t> bit_of,
           std::span<const std::uint64_t> bytes,
           std::span<std::uint64_t> sums) {
    reached_by_.assign(graph_.size(), 0);
    for (std::size_t end = parts_.objects.size(); end > 0;) {
      std::size_t first = end;
      const std::uint32_t part = parts_.of[parts_.objects[end - 1]];
      std::uint64_t bits = 0;
      while (first > 0 && parts_.of[parts_.objects[first - 1]] == part) {
        const ObjectIndex object = parts_.objects[--first];
        const std::uint32_t bit = bit_of[types_[object]];
        bits |= reached_by_[object] | (bit < 64 ? std::uint64_t{1} << bit : 0);
      }
      if (bits != 0) hand_on({parts_.objects.data() + first, end - first}, bits, bytes, sums);
      end = first;
    }
  }

 private:
  void hand_on(std::span<const ObjectIndex> part,
               std::uint64_t bits,
               std::span<const std::uint64_t> bytes,
               std::span<std::uint64_t> sums) {
    std::uint64_t sum = 0;
    for (const ObjectIndex object : part) {
      sum += bytes[object];
      for (const snapshot::Edge& edge : graph_.from(object)) reached_by_[edge.to] |= bits;
    }
    for (std::uint64_t left = bits; left != 0; left &= left - 1) {
      sums[static_cast<std::size_t>(std::countr_zero(left))] += sum;
    }
  }

  const Graph& graph_;
  const Parts& parts_;
  std::span<const snapshot::TypeIndex> types_;
  std::vector<std::uint64_t> reached_by_;  // by object: bits of the types that lead to it
};

}  // namespace

std::vector<std::uint64_t> transitive_bytes(const Graph& graph,
                                            std::span<const snapshot::TypeIndex> types,
                                            std::span<const std::uint64_t> bytes,
                                            std::size_t type_count) {
  const Parts parts = PartFinder(graph).run();
  std::vector<bool> is_used(type_count);
  for (const ObjectIndex object : parts.objects) is_used[types[object]] = true;
  std::vector<snapshot::TypeIndex> used;
  for (snapshot::TypeIndex type = 0; type < type_count; ++type) {
    if (is_used[type]) used.push_back(type);
  }
  std::vector<std::uint64_t> result(type_count);
  Flow flow(graph, parts, types);
  for (std::size_t first = 0; first < used.size(); first += 64) {
    const std::size_t count = std::min<std::size_t>(64, used.size() - first);
    std::vector<std::uint32_t> bit_of(type_count, kUnseen);
    for (std::uint32_t bit = 0; bit < count; ++bit) bit_of[used[first + bit]] = bit;
    std::vector<std::uint64_t> sums(64);
    flow.run(bit_of, bytes, sums);
    for (std::size_t bit = 0; bit < count; ++bit) result[used[first + bit]] = sums[bit];
  }
  return result;
}

}  // namespace heapattach::graph
