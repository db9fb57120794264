#pragma once

#include <cstdint>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/header.h"
#include "symbols/boehm/layout.h"
#include "symbols/heap/blocks.h"

namespace heapattach::boehm {

// Reads the blocks of a heap. Walks the index in batches and does not trust it: the amount of
// mapped memory limits the work, and each header must be readable, point to its block, and be
// plausible. Returns an error only if no part of the index could be read.
Result<heap::BlockIndex> read_blocks(const MemoryReader& memory,
                                     const MemoryMap& map,
                                     const Layout& layout);

}  // namespace heapattach::boehm
