#pragma once

#include <array>
#include <optional>

#include "attach/memory_reader.h"

namespace heapattach::boehm {

// The displacements from an object's beginning at which a pointer counts (GC_valid_offsets in
// obj_map.c): a byte for each up to the size of a block, 1 if it does. Where all interior pointers
// are recognised, all of them are set.
using Displacements = std::array<bool, 4096>;

// None if what stands at `at` is no such table.
std::optional<Displacements> read_displacements(RemoteAddr at, const MemoryReader& memory);

struct DisplacementsFound {
  RemoteAddr at;
  bool has_all = false;
};
// Looks for the table in GC_arrays by content. Without names it also tells whether interior
// pointers are recognised, which the length of objects does not: a build may add no byte to them.
std::optional<DisplacementsFound> search_displacements(const Range& arrays,
                                                       const MemoryReader& memory);

}  // namespace heapattach::boehm
