#pragma once

#include <vector>

#include "symbols/crystal/allocator_entries.h"

namespace heapattach::crystal {

// For one stripped program without any symbols, not even the collector's: a function counts as an
// allocator if its result, after a call with a constant, gets an id in its first bytes, in many
// locations with many ids.
AllocatorEntries guess_allocators(const std::vector<Code>& code,
                                  const Disassembler& disassembler,
                                  const ConstantAt& constant);

}  // namespace heapattach::crystal
