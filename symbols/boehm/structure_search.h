#pragma once

#include <optional>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "symbols/boehm/layout.h"
#include "symbols/elf/module.h"

namespace heapattach::boehm {

// Finds the block index of a collector without symbols, as in a stripped program with a static
// libgc, by its shape in the module's writable data (see structure_search.cpp). The layout has
// passed check_layout(). Unsupported if nothing has that shape.
Result<Layout> search_structure(const Module& module,
                                const MemoryReader& memory,
                                const MemoryMap& map);

// The table of object kinds (GC_obj_kinds) in a module's writable data: its first entries point to
// the free lists in `arrays`. None if nothing has that shape.
std::optional<Range> search_kinds(const Module& module,
                                  const MemoryReader& memory,
                                  const Range& arrays);

}  // namespace heapattach::boehm
