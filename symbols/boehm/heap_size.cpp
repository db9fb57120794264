#include "symbols/boehm/heap_size.h"

#include "symbols/boehm/bounded_blocks.h"

namespace heapattach::boehm {

heap::Counters counters_or_index(const Collector& collector,
                                 const MemoryReader& memory,
                                 const MemoryMap& map,
                                 std::uint64_t in_use) {
  heap::Counters counters = read_counters(collector, memory);
  if (counters.heap_bytes) return counters;
  const auto index = read_bounded_blocks(memory, map, collector.layout, in_use);
  if (!index) return counters;
  counters.heap_bytes = index->used_bytes + index->free_bytes;
  counters.free_bytes = index->free_bytes;
  return counters;
}

}  // namespace heapattach::boehm
