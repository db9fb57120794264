#pragma once

#include <cstdint>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/layout.h"
#include "symbols/heap/blocks.h"

namespace heapattach::boehm {

// Flags in a block's header, which are also Block::flags.
enum HeaderFlag : std::uint8_t {
  kIgnoreOffPage = heap::kFirstPageOnly,
  kWasUnmapped = 2,
  kFreeBlock = 4,
  kHasDisclaim = 8,
  kMarkUnconditionally = 0x10,
  kLargeBlock = 0x20,
};

// Walks the index in batches without trusting it: the amount of mapped memory limits the work, and
// each header must point to its block, be readable and be plausible. Fails only if no part of the
// index could be read.
Result<heap::BlockIndex> read_blocks(const MemoryReader& memory,
                                     const MemoryMap& map,
                                     const Layout& layout);

}  // namespace heapattach::boehm
