#pragma once

#include <cstdint>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/header.h"
#include "symbols/boehm/layout.h"
#include "symbols/heap/blocks.h"

namespace heapattach::boehm {

// Walks the index in batches without trusting it: the amount of mapped memory limits the work, and
// each header must point to its block, be readable and be plausible. Fails only if no part of the
// index could be read.
Result<heap::BlockIndex> read_blocks(const MemoryReader& memory,
                                     const MemoryMap& map,
                                     const Layout& layout);

}  // namespace heapattach::boehm
