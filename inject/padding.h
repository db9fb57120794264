#pragma once

#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"

namespace heapattach {

// Padding: the unused bytes after the last byte of code, up to the end of its mapping. It is
// executable, private to the process, and starts at a multiple of 64.
//
// Programs and libraries have such padding. So does the kernel's vdso, which helps if a static
// program has none. The ELF header in memory shows where the code ends; a header that contradicts
// the map is ignored.
std::vector<Range> paddings(const MemoryMap& map, const MemoryReader& memory);

// The first `bytes` of each padding that are zero now, aligned to 64. If a stub can return from
// anywhere, only the first such place.
std::vector<RemoteAddr> find_paddings(const MemoryMap& map,
                                      const MemoryReader& memory,
                                      std::size_t bytes);

}  // namespace heapattach
