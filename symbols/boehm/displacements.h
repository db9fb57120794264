#pragma once

#include <optional>

#include "attach/memory/memory_reader.h"
#include "symbols/boehm/layout.h"
#include "symbols/heap/heap.h"

namespace heapattach::boehm {

// Reads the table at `at` of the displacements that count (GC_valid_offsets in obj_map.c). It has
// one byte for each displacement up to the size of a block (before release 7, up to the size of the
// largest small object): 1 if the displacement counts. If all interior pointers are recognised, all
// bytes are 1. Returns nothing if the table is missing.
std::optional<heap::Displacements> read_displacements(RemoteAddr at,
                                                      const Layout& layout,
                                                      const MemoryReader& memory);

struct DisplacementsFound {
  RemoteAddr at;
  bool has_all = false;
};
// Searches GC_arrays for the table by its contents. Without symbols, only the table shows whether
// interior pointers are recognised. The sizes of objects do not show that, because some builds add
// no spare byte.
std::optional<DisplacementsFound> search_displacements(const Range& arrays,
                                                       const Layout& layout,
                                                       const MemoryReader& memory);

}  // namespace heapattach::boehm
