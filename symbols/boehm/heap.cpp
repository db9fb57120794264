#include "symbols/boehm/heap.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "attach/base/page.h"
#include "attach/base/word.h"
#include "symbols/heap/heap.h"

namespace heapattach::boehm {

std::vector<Range> plan_copy(const heap::BlockIndex& index, const Layout& layout) {
  const heap::Shape shape = layout.shape();
  std::vector<Range> ranges;
  for (const heap::Block& block : index.blocks) {
    std::uint64_t bytes = shape.extent_bytes(block);
    if (block.objects == 1 && block.has_no_pointers() && !may_hold_bitmaps(block)) {
      bytes = std::min(bytes, kLeastPageBytes);
    }
    if (!ranges.empty() && ranges.back().end() == block.start) {
      ranges.back().bytes += bytes;
    } else {
      ranges.push_back({block.start, bytes});
    }
  }
  return ranges;
}

heap::Heap make_heap(const heap::BlockIndex& index, const Layout& layout, const Capture& capture) {
  return heap::Heap(index, layout.shape(), capture, std::make_shared<const MarkingRules>());
}

void follow(heap::Heap& heap, MarkingRules rules) {
  heap.follow(std::make_shared<const MarkingRules>(std::move(rules)));
}

bool is_size_of(const heap::Heap& heap, heap::ObjectRef ref, std::uint64_t size) {
  const std::uint64_t bytes = heap.blocks()[ref.block].object_bytes;
  return size == bytes || (heap.shape().granule_bytes == kWordBytes && size == bytes / kWordBytes);
}

const MarkingRules& rules_of(const heap::Heap& heap) {
  static const MarkingRules none;
  const auto* rules = dynamic_cast<const MarkingRules*>(heap.rules().get());
  return rules == nullptr ? none : *rules;
}

}  // namespace heapattach::boehm
