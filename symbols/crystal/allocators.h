#pragma once

#include <cstddef>
#include <vector>

#include "attach/memory_reader.h"
#include "symbols/crystal/type_table.h"
#include "symbols/module.h"

namespace heapattach::crystal {

// What the machine code of a program tells of its types.
struct AllocatorScan {
  // One for each id that an object gets in code that could be followed: known_from AllocationSite,
  // with size and kind. Of a program without symbols, and where inlining left no function that is
  // named for the class, the name is empty. Of ids on which two places disagree there is nothing.
  std::vector<Type> types;
  std::size_t functions = 0;  // that were followed
  bool is_crystal = false;    // the program has Crystal's runtime in it
};

// Reads the types from the allocating functions of the main program. `memory` is read for the few
// words through which a program calls a collector in a shared library. Fails only without a
// disassembler.
Result<AllocatorScan> scan_allocators(const Modules& modules, const MemoryReader& memory);

}  // namespace heapattach::crystal
