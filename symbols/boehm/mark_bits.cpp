#include "symbols/boehm/mark_bits.h"

#include <algorithm>

#include "attach/base/word.h"

namespace heapattach::boehm {

// The mark after the last object is always set, since release 7.
std::size_t MarkBits::sentinel(const heap::Block& block, const heap::Shape& shape) const {
  if (granule_bytes_ == 0) return block.objects;
  return block.objects > 1 ? index(block, block.objects) : shape.block_bytes / granule_bytes_;
}

std::optional<bool> MarkBits::is_set(const heap::HeaderTail& tail, std::size_t at) const {
  const std::size_t byte = offset_ + (is_bytes_ ? at : at / 8);
  if (byte >= tail.bytes.size()) return std::nullopt;
  const auto value = std::to_integer<unsigned>(tail.bytes[byte]);
  if (is_bytes_) return value > 1 ? std::nullopt : std::optional<bool>(value == 1);
  return (value >> (at % 8) & 1) != 0;
}

// Only objects, and the slot after the last, are ever marked.
bool MarkBits::fits(const heap::HeaderTail& tail,
                    const heap::Block& block,
                    const heap::Shape& shape) const {
  // Before release 7, an uncollectable block begins with all bits set.
  if (granule_bytes_ == kWordBytes && block.is_uncollectable()) return true;
  const std::size_t last = sentinel(block, shape);
  for (std::size_t i = 0; i < last; ++i) {
    const auto set = is_set(tail, i);
    if (!set || (*set && i % step(block) != 0)) return false;
  }
  return granule_bytes_ == kWordBytes || is_set(tail, last).value_or(false);
}

std::optional<MarkBits> MarkBits::find(const heap::Heap& heap) {
  const std::uint64_t granule = heap.shape().granule_bytes;
  const MarkBits known[] = {{16, true, granule}, {8, true, 0},       {16, false, granule},
                            {8, false, 0},       {8, true, granule}, {8, false, granule}};
  for (const MarkBits& marks : known) {
    const auto& tails = heap.index().tails;
    const bool fits = std::all_of(tails.begin(), tails.end(), [&](const heap::HeaderTail& tail) {
      return marks.fits(tail, heap.blocks()[tail.block], heap.shape());
    });
    if (fits && !tails.empty()) return marks;
  }
  return std::nullopt;
}

MarkComparison compare_with_marks(const heap::Heap& heap, const heap::LiveSet& found) {
  MarkComparison result;
  const auto marks = MarkBits::find(heap);
  if (!marks) return result;
  for (const heap::HeaderTail& tail : heap.index().tails) {
    const heap::Block& block = heap.blocks()[tail.block];
    if (block.is_uncollectable()) continue;
    ++result.blocks;
    for (std::uint32_t slot = 0; slot < block.objects; ++slot) {
      const std::uint64_t number = heap.number({tail.block, slot});
      const bool is_marked = marks->is_marked(tail, block, slot).value_or(false);
      const bool is_found = found.live.contains(number);
      if (is_marked && !found.free.contains(number)) {
        ++result.marked;
        if (!is_found) ++result.missing;
      }
      if (is_found && !is_marked) ++result.unmarked;
    }
  }
  return result;
}

}  // namespace heapattach::boehm
