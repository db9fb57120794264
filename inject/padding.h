#pragma once

#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"

namespace heapattach {

// Dead padding: the bytes after the last byte of code, up to the end of its page, which are empty
// and unreferenced. It is executable, private to the process, and starts at a multiple of 64.
//
// Programs and libraries have such padding. So does the kernel's vdso, which helps if a static
// program has none. The ELF header in memory shows where code ends; headers that contradict the map
// are ignored.
std::vector<Range> paddings(const MemoryMap& map, const MemoryReader& memory);

// The first `bytes` of each padding that are zero at the moment, aligned to 64; only of the first
// such padding if a stub there can bring any thread back.
std::vector<RemoteAddr> find_paddings(const MemoryMap& map,
                                      const MemoryReader& memory,
                                      std::size_t bytes);

}  // namespace heapattach
