#include "report/analyze/explaining_roots.h"

#include <array>

namespace heapattach::analyze {

namespace {

using snapshot::Snapshot;

// The objects that the roots added so far reach.
class Reached {
 public:
  explicit Reached(const Snapshot& snapshot)
      : graph_{snapshot.first_edge, snapshot.edges, {}}, is_reached_(snapshot.objects.size()) {}

  [[nodiscard]] bool has(ObjectIndex object) const { return is_reached_[object]; }

  void add(ObjectIndex start) {
    reach(start);
    if (graph_.first_edge.empty()) open_.clear();
    // Objects are scattered in memory. Each waits in a short queue while its data are fetched:
    // first the place of its edges, then the edges.
    while (!open_.empty() || head_ != tail_) {
      if (!open_.empty()) {
        __builtin_prefetch(&graph_.first_edge[open_.back()]);
        queue_[head_++ % kQueue] = open_.back();
        open_.pop_back();
        if (head_ - tail_ >= kQueue / 2) {
          const ObjectIndex next = queue_[(head_ - kQueue / 2) % kQueue];
          __builtin_prefetch(graph_.edges.data() + graph_.first_edge[next]);
        }
        if (head_ - tail_ < kQueue) continue;
      }
      for (const snapshot::Edge& edge : graph_.from(queue_[tail_++ % kQueue])) reach(edge.to);
    }
  }

 private:
  static constexpr std::size_t kQueue = 16;

  void reach(ObjectIndex object) {
    if (is_reached_[object]) return;
    is_reached_[object] = true;
    open_.push_back(object);
  }

  Graph graph_;
  std::vector<bool> is_reached_;
  std::vector<ObjectIndex> open_;
  std::array<ObjectIndex, kQueue> queue_{};
  std::size_t head_ = 0;  // the queue's next free place; tail_ is that of the oldest object
  std::size_t tail_ = 0;
};

// The numbers of the roots, the best ones first.
std::array<std::vector<std::uint32_t>, kRootQualities> by_quality(const Snapshot& snapshot) {
  std::array<std::vector<std::uint32_t>, kRootQualities> roots;
  RootQualities qualities(snapshot);
  for (std::uint32_t i = 0; i < snapshot.roots.size(); ++i) {
    roots[static_cast<std::size_t>(qualities.of(snapshot.roots[i]))].push_back(i);
  }
  return roots;
}

// Whether a root of this quality counts only if no better root reaches the same object.
bool is_weak(std::size_t quality) {
  return quality >= static_cast<std::size_t>(RootQuality::Collector);
}

}  // namespace

std::vector<RootedObjects> rooted_objects(const Snapshot& snapshot) {
  std::vector<RootedObjects> groups;
  for (const auto& roots : by_quality(snapshot)) {
    groups.push_back({objects_of(snapshot, roots), is_weak(groups.size())});
  }
  return groups;
}

ExplainingRoots explaining_roots(const Snapshot& snapshot) {
  const auto all = by_quality(snapshot);
  ExplainingRoots explaining;
  Reached reached(snapshot);
  for (std::size_t quality = 0; quality < kRootQualities; ++quality) {
    const std::vector<std::uint32_t>& roots = all[quality];
    for (const std::uint32_t root : roots) {
      // Roots of one quality are equal: all of them stay that reference an object which no better
      // root reaches.
      if (is_weak(quality) && reached.has(snapshot.roots[root].to)) continue;
      explaining.numbers.push_back(root);
    }
    explaining.quality_ends.push_back(explaining.numbers.size());
    const std::size_t first = quality == 0 ? 0 : explaining.quality_ends[quality - 1];
    for (std::size_t i = first; i < explaining.numbers.size(); ++i) {
      reached.add(snapshot.roots[explaining.numbers[i]].to);
    }
  }
  return explaining;
}

std::vector<ObjectIndex> objects_of(const Snapshot& snapshot,
                                    const std::vector<std::uint32_t>& roots) {
  std::vector<ObjectIndex> objects;
  objects.reserve(roots.size());
  for (const std::uint32_t root : roots) objects.push_back(snapshot.roots[root].to);
  return objects;
}

}  // namespace heapattach::analyze
