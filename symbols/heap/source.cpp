#include "symbols/heap/source.h"

namespace heapattach::heap {

Counters counters_or_blocks(const Source& heap, const Surroundings& target, std::uint64_t in_use) {
  Counters counters = heap.counters(target.memory);
  if (counters.heap_bytes) return counters;
  const auto index = heap.blocks(target, in_use);
  if (!index) return counters;
  counters.heap_bytes = index->used_bytes + index->free_bytes;
  counters.free_bytes = index->free_bytes;
  return counters;
}

}  // namespace heapattach::heap
