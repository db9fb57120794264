#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/crystal/arch/allocation_sites.h"
#include "symbols/crystal/machine_code.h"
#include "symbols/elf/module.h"

namespace heapattach::crystal {

// The result of each allocating function, by the address that is called.
using AllocatorEntries = std::unordered_map<std::uint64_t, Allocator>;

// Finds the functions that the `code` of `program` calls to allocate. None if there are no symbols,
// not even the collector's. Reads the slots through which a shared collector is called from
// `memory`.
AllocatorEntries find_allocators(const Modules& modules,
                                 const Module& program,
                                 const std::vector<Code>& code,
                                 const MemoryReader& memory);

}  // namespace heapattach::crystal
