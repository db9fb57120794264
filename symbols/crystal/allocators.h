#pragma once

#include <cstddef>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/crystal/program_names.h"
#include "symbols/crystal/type_table.h"
#include "symbols/elf/module.h"

namespace heapattach::crystal {

// The types of a program, as far as its own code and data reveal them.
struct AllocatorScan {
  // One type for each id that is stored into an object by code that could be followed: known_from
  // AllocationSite, with size and kind. The name comes from the program (ProgramNames), or else
  // from the class that the function is named after; otherwise it is empty. Ids on which two sites
  // disagree are omitted. Also includes each class that has a name but no such code.
  std::vector<Type> types;
  ProgramNames names;
  std::size_t functions = 0;  // number of functions followed
  bool is_crystal = false;    // the program has Crystal's runtime in it
};

// Whether a program has Crystal's runtime in it.
[[nodiscard]] bool has_runtime(const Module& program);

// Reads the types from the allocating functions of the main program. Uses `memory` only for the few
// words through which a program calls a collector in a shared library. Fails only without a
// disassembler.
Result<AllocatorScan> scan_allocators(const Modules& modules, const MemoryReader& memory);
// Scans a module that is not the main program of a process.
Result<AllocatorScan> scan_program(const Modules& modules,
                                   const Module& program,
                                   const MemoryReader& memory);

}  // namespace heapattach::crystal
