#pragma once

#include <optional>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"

namespace heapattach {

// Finds `bytes` of dead padding: behind the last byte of a program's or library's code, up to the
// end of its page, where nothing is and nothing refers to. None if there is none. What is given
// back is executable, private to the process, aligned to 64, and zero at present.
//
// Where the code ends is what the ELF header in memory says; headers that contradict the map are
// passed over.
std::optional<RemoteAddr> find_padding(const MemoryMap& map,
                                       const MemoryReader& memory,
                                       std::size_t bytes);

}  // namespace heapattach
