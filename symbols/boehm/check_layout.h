#pragma once

#include <cstdint>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// The evidence of a sample of headers for and against a layout.
struct LayoutFit {
  std::uint64_t headers = 0;  // looked at
  std::uint64_t misfits = 0;  // of these; a live target may change a header while we read
  // Blocks of the normal kind, and how many of them have a descriptor that leaves out a spare word
  // at the objects' ends, as a collector that recognises all interior pointers does.
  std::uint64_t normal = 0;
  std::uint64_t spared = 0;
};

// Checks a layout against the target: bottom indexes have the keys of their slots, headers name
// their own blocks, blocks are in writable anonymous memory, sizes are multiples of the granule,
// and descriptors match their kinds. Checks a bounded sample. Malformed with the misfit if it does
// not fit. A collector that has no heap yet has no headers, and fits.
Result<LayoutFit> check_layout(const Layout& layout,
                               const MemoryReader& memory,
                               const MemoryMap& map);

// The offset within a header at which sampled headers name their own blocks; the usual one if no
// block is in use. Malformed if there is no such offset.
Result<std::uint64_t> find_block_field(const Layout& layout, const MemoryReader& memory);

}  // namespace heapattach::boehm
