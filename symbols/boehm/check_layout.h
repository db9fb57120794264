#pragma once

#include <cstdint>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// The evidence for and against a layout in a sample of headers.
struct LayoutFit {
  std::uint64_t headers = 0;  // the number of headers that were examined
  std::uint64_t misfits = 0;  // headers that do not fit; a live target may change one as we read it
  // The number of blocks of the normal kind, and how many of these have a descriptor that omits a
  // spare word at the end of each object, as it does if the collector recognises all interior
  // pointers.
  std::uint64_t normal = 0;
  std::uint64_t spared = 0;
};

// Checks a layout against a bounded sample of the target: bottom indexes must have the keys of
// their slots, headers must point to their own blocks, blocks must be in writable anonymous memory,
// sizes must be multiples of the granule, and descriptors must match their kinds. Returns
// Malformed, with the first mismatch, if the layout does not fit. As long as a collector has no
// heap, it has no headers, and any layout fits.
Result<LayoutFit> check_layout(const Layout& layout,
                               const MemoryReader& memory,
                               const MemoryMap& map);

// Finds the offset at which the sampled headers point to their own blocks; the usual offset if no
// block is in use. Returns Malformed if there is no such offset.
Result<std::uint64_t> find_block_field(const Layout& layout, const MemoryReader& memory);

}  // namespace heapattach::boehm
