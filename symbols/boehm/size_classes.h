#pragma once

#include <algorithm>
#include <cstdint>

#include "symbols/heap/blocks.h"

// The slots that the collector uses for requests of each size (GC_init_size_map and
// GC_extend_size_map in misc.c and malloc.c, the same from 7.6 to 8.3).
//
// Requests below 384 bytes have classes of their own: one byte more, for a pointer past the end,
// rounded up to 16. The classes above are made on demand, and are then kept. A class is made for
// the first request that has none. That request is rounded up to an even number of granules, and
// then to the largest slot of which as many fit in a block. The class serves all requests of at
// least three quarters of the first one that have no class yet. So the slot depends on what came
// first: 744 bytes are in a slot of 752, or of 1,024 after an object of 856 bytes.
namespace heapattach::boehm {

// The smallest request for which the collector may use a slot of this size: three quarters of the
// smallest first request that makes such a slot. Not for objects larger than half a block, which
// are rounded up to granules.
[[nodiscard]] constexpr std::uint64_t smallest_request(std::uint64_t slot_bytes) {
  constexpr std::uint64_t kSlotGranule = 16;
  constexpr std::uint64_t kBlockGranules = 256;
  const std::uint64_t in_block =
      kBlockGranules / std::max<std::uint64_t>(slot_bytes / kSlotGranule, 1);
  std::uint64_t first = kBlockGranules / (in_block + 1) + 1;  // one less would fit once more
  first += first % 2;
  return (first - 1) * kSlotGranule * 3 / 4;
}

// Whether a slot of this size may hold an object that was requested with `bytes`. Small classes are
// merged too in some releases, so any slot may be larger by a quarter and 32 bytes.
[[nodiscard]] constexpr bool may_hold_request(std::uint64_t slot_bytes, std::uint64_t bytes) {
  constexpr std::uint64_t kLargestSlot = 2048;
  if (heap::is_slightly_larger(slot_bytes, bytes)) return true;
  return bytes <= slot_bytes && slot_bytes <= kLargestSlot && bytes >= smallest_request(slot_bytes);
}

inline constexpr heap::SlotSizes kSlotSizes{
    .smallest = 16, .spare = 1, .may_hold = may_hold_request};

}  // namespace heapattach::boehm
