#include "symbols/boehm/churn.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace heapattach::boehm {
namespace {

constexpr std::uint64_t kEntryBytes = 48;
constexpr std::uint64_t kLargestEntry = 64;  // with a spare byte, rounded up to a size class
constexpr std::uint64_t kLargestOnList = 24 * Heap::kGranuleBytes;  // TINY_FREELISTS

// Whether this is the entry of a finalizer that has run; collector_objects.cpp describes its words.
bool has_run(const Heap& heap, ObjectRef entry) {
  const auto word = [&](std::uint64_t index) { return heap.word_at(entry, index * 8).value_or(1); };
  const auto object = heap.object_at(word(0));
  if (!object || word(1) != 0 || word(2) == 0) return false;
  const std::uint64_t bytes = heap.blocks()[object->block].object_bytes;
  return (word(3) == 0 && word(4) == bytes) || (word(4) == 0 && word(5) == bytes);
}

std::vector<ObjectRef> finished_entries(const Heap& heap, const LiveSet& found) {
  std::vector<ObjectRef> entries;
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    const Block& of = heap.blocks()[block];
    const bool may_have =
        of.kind == kNormal && of.object_bytes >= kEntryBytes && of.object_bytes <= kLargestEntry;
    for (std::uint32_t slot = 0; may_have && slot < of.objects; ++slot) {
      const std::uint64_t number = heap.number({block, slot});
      if (found.live.contains(number) || found.free.contains(number)) continue;
      if (has_run(heap, {block, slot})) entries.push_back({block, slot});
    }
  }
  return entries;
}

}  // namespace

ObjectSet dropped_since_collection(const Heap& heap,
                                   const LiveSet& found,
                                   std::span<const RootWords> stale,
                                   unsigned workers) {
  Marker marker(heap, found.free, workers);
  marker.trace(stale, finished_entries(heap, found));
  return std::move(marker).take_live();
}

std::uint64_t count_unexplained(const Heap& heap, const LiveSet& found, const ObjectSet& dropped) {
  const auto marks = MarkBits::find(heap);
  if (!marks) return 0;
  std::map<std::pair<std::uint8_t, std::uint64_t>, std::uint64_t> missing;  // by kind and size
  for (const HeaderTail& tail : heap.index().tails) {
    const Block& block = heap.blocks()[tail.block];
    if (block.is_uncollectable()) continue;
    for (std::uint32_t slot = 0; slot < block.objects; ++slot) {
      const std::uint64_t number = heap.number({tail.block, slot});
      const bool is_accounted_for =
          found.live.contains(number) || found.free.contains(number) || dropped.contains(number);
      if (is_accounted_for || !marks->is_marked(tail, block, slot).value_or(false)) continue;
      ++missing[{block.kind, block.object_bytes}];
    }
  }
  const std::uint64_t threads = std::max<std::uint64_t>(1, found.records.size());
  std::uint64_t unexplained = 0;
  for (const auto& [size, count] : missing) {
    const std::uint64_t bytes = size.second;
    const std::uint64_t on_lists =
        bytes <= kLargestOnList ? threads * (heap.layout().block_bytes() / bytes) : 0;
    unexplained += count - std::min(count, on_lists);
  }
  return unexplained;
}

}  // namespace heapattach::boehm
