#pragma once

#include <optional>
#include <vector>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"

namespace heapattach {

// Dead padding: the bytes after the last byte of code, up to the end of its page, where nothing is
// and nothing refers to. It is executable, private to the process, and begins at a multiple of 64.
//
// Programs and libraries have it, and so has the kernel's vdso: a static program may have none of
// its own. Where code ends is what the ELF header in memory says; headers that contradict the map
// are passed over.
std::vector<Range> paddings(const MemoryMap& map, const MemoryReader& memory);

// `bytes` of it that are zero at present, aligned to 64. None if there are none.
std::optional<RemoteAddr> find_padding(const MemoryMap& map,
                                       const MemoryReader& memory,
                                       std::size_t bytes);

}  // namespace heapattach
