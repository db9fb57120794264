#pragma once

#include <cstdint>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// The evidence for and against a layout in a sample of headers.
struct LayoutFit {
  std::uint64_t headers = 0;  // looked at
  std::uint64_t misfits = 0;  // of these; a live target may change a header while we read it
  // Blocks of the normal kind, and how many of their descriptors omit a spare word at the end of
  // each object, as they do if the collector recognises all interior pointers.
  std::uint64_t normal = 0;
  std::uint64_t spared = 0;
};

// Checks a layout against a bounded sample of the target: bottom indexes have the keys of their
// slots, headers point to their own blocks, blocks are in writable anonymous memory, sizes are
// multiples of the granule, and descriptors match their kinds. Malformed, with the first mismatch,
// if the layout does not fit. A collector without a heap yet has no headers, so any layout fits.
Result<LayoutFit> check_layout(const Layout& layout,
                               const MemoryReader& memory,
                               const MemoryMap& map);

// Finds the offset at which the sampled headers point to their own blocks; the usual offset if no
// block is in use. Malformed if there is no such offset.
Result<std::uint64_t> find_block_field(const Layout& layout, const MemoryReader& memory);

}  // namespace heapattach::boehm
