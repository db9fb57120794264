#pragma once

#include <vector>

#include "symbols/crystal/allocator_entries.h"

namespace heapattach::crystal {

// Guesses the allocators of a stripped program without any symbols, not even the collector's. A
// function counts as an allocator if many callers pass it a constant and then store an id in the
// first bytes of the result, with many different ids.
AllocatorEntries guess_allocators(const std::vector<Code>& code,
                                  const Disassembler& disassembler,
                                  const ConstantAt& constant);

}  // namespace heapattach::crystal
