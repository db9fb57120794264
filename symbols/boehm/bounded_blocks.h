#pragma once

#include <cstdint>

#include "symbols/boehm/blocks.h"
#include "symbols/heap/blocks.h"

namespace heapattach::boehm {

// Calls read_blocks() for a process that uses `in_use` bytes of memory, including swap. The size of
// its mappings would be no limit for the work, because address space costs a program nothing.
Result<heap::BlockIndex> read_bounded_blocks(const MemoryReader& memory,
                                             const MemoryMap& map,
                                             const Layout& layout,
                                             std::uint64_t in_use);

}  // namespace heapattach::boehm
