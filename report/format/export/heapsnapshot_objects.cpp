#include "report/format/export/heapsnapshot_objects.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace heapattach {

namespace {

constexpr std::uint64_t kFold = std::uint64_t{1} << 35;

struct NumberRange {
  std::uint64_t from = 0;  // within kFold
  std::uint64_t last = 0;
};

// The first and the last offset of the objects in each stretch of kFold bytes.
std::vector<NumberRange> folded_ranges(const snapshot::Snapshot& snapshot) {
  std::vector<NumberRange> ranges;
  std::uint64_t stretch = ~std::uint64_t{0};
  for (const snapshot::Object& object : snapshot.objects) {
    const std::uint64_t within = object.address % kFold;
    if (std::exchange(stretch, object.address / kFold) != stretch) {
      ranges.push_back({within, within});
    }
    ranges.back().last = within;
  }
  return ranges;
}

}  // namespace

HeapsnapshotIds::HeapsnapshotIds(const snapshot::Snapshot& snapshot) {
  for (const snapshot::Object& object : snapshot.objects) {
    if (object.address % 16 != 0) by_address_ = false;
  }
  std::vector<NumberRange> ranges = folded_ranges(snapshot);
  std::sort(ranges.begin(), ranges.end(),
            [](const NumberRange& a, const NumberRange& b) { return a.from < b.from; });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].from <= ranges[i - 1].last) by_address_ = false;
  }
}

using snapshot::ObjectIndex;

HeapsnapshotObjects::HeapsnapshotObjects(const snapshot::Snapshot& snapshot) : snapshot_(snapshot) {
  const auto& objects = snapshot.objects;
  for (const auto& object : objects) count_ += is_counted(snapshot, object) ? 1U : 0U;
  if (count_ != objects.size()) ordinals_.resize(objects.size());
  std::uint32_t next = 0;
  for (ObjectIndex i = 0; i < objects.size(); ++i) {
    if (!is_counted(snapshot, objects[i])) continue;
    if (!ordinals_.empty()) ordinals_[i] = next++;
    edges_ += count_edges(i);
    const std::uint64_t bytes = snapshot.bytes_of(objects[i]);
    if (bytes <= kMostBytes) continue;
    large_.push_back({i, bytes - kMostBytes});
    pieces_ += large_.back().pieces();
  }
  edges_ += pieces_;
}

std::uint64_t HeapsnapshotObjects::count_edges(ObjectIndex object) const {
  const auto edges = snapshot_.edges_of(object);
  if (ordinals_.empty()) return edges.size();
  std::uint64_t count = 0;
  for (const snapshot::Edge& edge : edges) count += is_written(edge.to) ? 1U : 0U;
  return count;
}

}  // namespace heapattach
