#pragma once

#include <vector>

#include "symbols/crystal/allocator_entries.h"

namespace heapattach::crystal {

// Where nothing has a name, not even the collector, because all is in one stripped program: a
// function is taken for an allocator if what it returns, after a call with a constant, gets an id
// in its first bytes, in many places with many ids.
AllocatorEntries guess_allocators(const std::vector<Code>& code,
                                  const Disassembler& disassembler,
                                  const ConstantAt& constant);

}  // namespace heapattach::crystal
