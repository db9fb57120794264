#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "symbols/heap/live_set.h"

namespace heapattach::boehm {

// The position and form of the marks after a header's descriptor. In 8.2.2, a map and a count come
// before the marks, which are one byte per granule. Other builds have no map, use bits, or have one
// mark per object. Before release 7, there is one bit per word.
class MarkBits {
 public:
  // Finds the form that fits all headers whose tails the index keeps.
  static std::optional<MarkBits> find(const heap::Heap& heap);

  // Whether an object is marked; nothing if its header was not read so far.
  [[nodiscard]] std::optional<bool> is_marked(const heap::HeaderTail& tail,
                                              const heap::Block& block,
                                              std::uint32_t slot) const {
    return is_set(tail, index(block, slot));
  }

 private:
  MarkBits(std::size_t offset, bool is_bytes, std::uint64_t granule_bytes)
      : offset_(offset), is_bytes_(is_bytes), granule_bytes_(granule_bytes) {}

  // The number of marks per object.
  [[nodiscard]] std::size_t step(const heap::Block& block) const {
    if (granule_bytes_ == 0) return 1;
    return std::max<std::size_t>(1, block.object_bytes / granule_bytes_);
  }
  [[nodiscard]] std::size_t index(const heap::Block& block, std::uint32_t slot) const {
    return slot * step(block);
  }
  [[nodiscard]] std::size_t sentinel(const heap::Block& block, const heap::Shape& shape) const;
  [[nodiscard]] std::optional<bool> is_set(const heap::HeaderTail& tail, std::size_t at) const;
  [[nodiscard]] bool fits(const heap::HeaderTail& tail,
                          const heap::Block& block,
                          const heap::Shape& shape) const;

  std::size_t offset_;
  bool is_bytes_;
  std::uint64_t granule_bytes_;  // 0: one mark per object
};

// Compares, in a sample of blocks, the live set with the marks of the collector's last collection.
// The comparison is meaningful if nothing was allocated since then: every live object is marked,
// and every marked object is live or has been dropped.
struct MarkComparison {
  std::size_t blocks = 0;
  std::uint64_t marked = 0;    // marked objects, except those on free lists
  std::uint64_t missing = 0;   // marked objects that are not in the live set
  std::uint64_t unmarked = 0;  // live objects without a mark
};
MarkComparison compare_with_marks(const heap::Heap& heap, const heap::LiveSet& found);

}  // namespace heapattach::boehm
