#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "symbols/boehm/live.h"

namespace heapattach::boehm {

// The position and form of the marks after a header's descriptor. In 8.2.2 a map and a count
// precede them, and there is one byte per granule. Other builds have no map, use bits, or have one
// mark per object.
class MarkBits {
 public:
  // Finds the form that fits all headers whose tails the index keeps.
  static std::optional<MarkBits> find(const Heap& heap);

  // Whether an object is marked; none if its header was not read that far.
  [[nodiscard]] std::optional<bool> is_marked(const HeaderTail& tail,
                                              const Block& block,
                                              std::uint32_t slot) const {
    return is_set(tail, index(block, slot));
  }

 private:
  MarkBits(std::size_t offset, bool is_bytes, bool is_per_granule)
      : offset_(offset), is_bytes_(is_bytes), is_per_granule_(is_per_granule) {}

  [[nodiscard]] std::size_t index(const Block& block, std::uint32_t slot) const {
    return is_per_granule_ ? slot * (block.object_bytes / Heap::kGranuleBytes) : slot;
  }
  [[nodiscard]] std::size_t sentinel(const Block& block, const Layout& layout) const;
  [[nodiscard]] std::optional<bool> is_set(const HeaderTail& tail, std::size_t at) const;
  [[nodiscard]] bool fits(const HeaderTail& tail, const Block& block, const Layout& layout) const;

  std::size_t offset_;
  bool is_bytes_;
  bool is_per_granule_;
};

// Compares, in a sample of blocks, the live set with the marks of the collector's last collection.
// The comparison is meaningful if nothing was allocated since then: every live object is marked,
// and every marked object is live or has been dropped.
struct MarkComparison {
  std::size_t blocks = 0;
  std::uint64_t marked = 0;    // except those on free lists
  std::uint64_t missing = 0;   // of these, those not in the live set
  std::uint64_t unmarked = 0;  // live, but not marked
};
MarkComparison compare_with_marks(const Heap& heap, const LiveSet& found);

}  // namespace heapattach::boehm
