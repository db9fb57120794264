#pragma once

#include <optional>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/layout.h"
#include "symbols/elf/module.h"

namespace heapattach::boehm {

// Finds the block index of a collector without symbols, such as a static libgc in a stripped
// program, by its structure in the module's writable data (see structure_search.cpp). The result
// has passed check_layout(). Unsupported if nothing has that structure; Malformed if something has
// nearly that, because the process runs: `map` may be too old.
Result<Layout> search_structure(const Module& module,
                                const MemoryReader& memory,
                                const MemoryMap& map);

// Finds the table of object kinds (GC_obj_kinds) in a module's writable data: its first entries
// point to the free lists in `arrays`. None if there is no such table.
std::optional<Range> search_kinds(const Module& module,
                                  const MemoryReader& memory,
                                  const Range& arrays);

}  // namespace heapattach::boehm
