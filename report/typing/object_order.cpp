#include "report/typing/object_order.h"

#include "attach/base/check.h"
#include "report/typing/block_ranges.h"

namespace heapattach::snapshot {

ObjectOrder::ObjectOrder(const heap::Heap& heap, const heap::ObjectSet& listed)
    : heap_(heap), listed_(listed) {
  before_.reserve(listed.words().size());
  for (const std::uint64_t word : listed.words()) {
    before_.push_back(static_cast<std::uint32_t>(size_));
    size_ += count_ones(word);
  }
  HA_CHECK(size_ <= ~ObjectIndex{0});
}

std::optional<ObjectIndex> ObjectOrder::index_of(heap::ObjectRef ref) const {
  const std::uint64_t number = heap_.number(ref);
  if (!listed_.contains(number)) return std::nullopt;
  return static_cast<ObjectIndex>(rank(number));
}

heap::ObjectSet objects_in_use(const heap::Heap& heap, const heap::LiveSet& found) {
  heap::ObjectSet in_use = found.live;
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t block = first; block < last; ++block) {
      for (std::uint32_t slot = 0; slot < heap.blocks()[block].objects; ++slot) {
        const heap::ObjectRef ref{block, slot};
        const std::uint64_t number = heap.number(ref);
        if (found.live.contains(number)) continue;
        // For chunks, it is known which are in use, and only these are listed.
        const bool is_in_use = heap.is_chunk(block) || (!found.free.contains(number) &&
                                                        !heap.rules()->looks_free(heap, ref));
        if (is_in_use) in_use.insert_shared(number);
      }
    }
  });
  return in_use;
}

}  // namespace heapattach::snapshot
