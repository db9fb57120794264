#pragma once

#include <cstdint>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// What a sample of the heap's headers says for and against a layout.
struct LayoutFit {
  std::uint64_t headers = 0;  // looked at
  std::uint64_t misfits = 0;  // of these; a live target may change one under our eyes
  // Blocks of the normal kind, and of these the ones whose descriptor leaves out a spare word at
  // the objects' ends, as it does in a collector that recognises all interior pointers.
  std::uint64_t normal = 0;
  std::uint64_t spared = 0;
};

// Checks a layout against the target: the bottom indexes have the keys that lead to them, headers
// name their own blocks, which lie in writable anonymous memory, sizes are multiples of the
// granule, and descriptors are those of their kinds. Looks at a bounded sample. Malformed with the
// misfit if it does not fit. A collector that has no heap yet has no headers, and fits.
Result<LayoutFit> check_layout(const Layout& layout,
                               const MemoryReader& memory,
                               const MemoryMap& map);

// The offset within a header at which sampled headers name their own blocks; the usual one where no
// block is in use. Malformed if there is no such offset.
Result<std::uint64_t> find_block_field(const Layout& layout, const MemoryReader& memory);

}  // namespace heapattach::boehm
