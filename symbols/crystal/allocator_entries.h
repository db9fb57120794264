#pragma once

#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/crystal/arch/calls.h"
#include "symbols/elf/module.h"

namespace heapattach::crystal {

// Finds the functions that the `code` of `program` calls to allocate. None if there are no symbols,
// not even the collector's. Reads the slots through which a shared collector is called from
// `memory`.
AllocatorEntries find_allocators(const Modules& modules,
                                 const Module& program,
                                 const std::vector<Code>& code,
                                 const MemoryReader& memory);

}  // namespace heapattach::crystal
