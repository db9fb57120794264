#pragma once

#include <array>
#include <optional>

#include "attach/memory_reader.h"

namespace heapattach::boehm {

// The displacements from an object's beginning at which a pointer counts (GC_valid_offsets in
// obj_map.c): a byte for each up to the size of a block, 1 if it counts. If all interior pointers
// are recognised, all are set.
using Displacements = std::array<bool, 4096>;

// None if there is no such table at `at`.
std::optional<Displacements> read_displacements(RemoteAddr at, const MemoryReader& memory);

struct DisplacementsFound {
  RemoteAddr at;
  bool has_all = false;
};
// Searches GC_arrays for the table by its content. Without symbols it also shows whether interior
// pointers are recognised. The length of objects does not show that: a build may add no byte to
// them.
std::optional<DisplacementsFound> search_displacements(const Range& arrays,
                                                       const MemoryReader& memory);

}  // namespace heapattach::boehm
