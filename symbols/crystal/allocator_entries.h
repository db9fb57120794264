#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "attach/memory_reader.h"
#include "symbols/crystal/allocation_sites.h"
#include "symbols/crystal/machine_code.h"
#include "symbols/elf/module.h"

namespace heapattach::crystal {

// What each allocating function returns, by the address at which it is called.
using AllocatorEntries = std::unordered_map<std::uint64_t, Allocator>;

// Where the `code` of `program` calls when it allocates. None if there are no symbols, not even the
// collector's. Reads from `memory` the slots through which a shared collector is called.
AllocatorEntries find_allocators(const Modules& modules,
                                 const Module& program,
                                 const std::vector<Code>& code,
                                 const MemoryReader& memory);

}  // namespace heapattach::crystal
