#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "attach/memory_reader.h"
#include "symbols/crystal/allocation_sites.h"
#include "symbols/crystal/machine_code.h"
#include "symbols/elf/module.h"

namespace heapattach::crystal {

// What each function that allocates gives, by the address it is called at.
using AllocatorEntries = std::unordered_map<std::uint64_t, Allocator>;

// Where the `code` of `program` calls when it allocates. None if nothing has a name, not even the
// collector. `memory` is read for the slots through which a shared collector is called.
AllocatorEntries find_allocators(const Modules& modules,
                                 const Module& program,
                                 const std::vector<Code>& code,
                                 const MemoryReader& memory);

}  // namespace heapattach::crystal
