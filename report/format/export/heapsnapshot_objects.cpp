#include "report/format/export/heapsnapshot_objects.h"

namespace heapattach {

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
  const auto edges = edges_of(object);
  if (ordinals_.empty()) return edges.size();
  std::uint64_t count = 0;
  for (const snapshot::Edge& edge : edges) count += is_written(edge.to) ? 1U : 0U;
  return count;
}

}  // namespace heapattach
