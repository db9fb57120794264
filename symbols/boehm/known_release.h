#pragma once

#include <optional>

#include "attach/memory/memory_reader.h"
#include "symbols/boehm/layout.h"

namespace heapattach::boehm {

// The offsets of the fields of GC_arrays in release 8.2.2, as built by Debian for x86-64, both
// shared and static. They lead to the counters of a collector without symbols, and are always
// checked before they are used.
struct KnownRelease {
  std::uint64_t heap_bytes = 0x0;
  std::uint64_t large_free_bytes = 0x18;
  std::uint64_t unmapped_bytes = 0xb8;
  std::uint64_t all_nils = 0xc0;  // a pointer to the empty index
  std::uint64_t mark_state = 0xe8;
  std::uint64_t top_index = 0x289f0;
  std::uint64_t bytes = 0x2c9f0;  // the total size
};

// Finds GC_arrays around a top index that was found without symbols. Uses the offsets of the known
// release if they fit. Otherwise takes the range from the pointer to the empty index, which is near
// the start of GC_arrays, to the end of the top index. Returns nothing if there is no such pointer.
struct ArraysFound {
  Range range;
  bool is_known_release = false;
};
std::optional<ArraysFound> find_arrays(const Layout& layout, const MemoryReader& memory);

}  // namespace heapattach::boehm
