#pragma once

#include <optional>
#include <span>

#include "attach/process/memory_map.h"

namespace heapattach::trace {

// Finds `bytes` of unmapped address space, in whole pages. Jumps must reach each address of `near`
// from anywhere in it, and back. Keeps away from memory that grows: the heap and the main stack.
std::optional<RemoteAddr> find_room(const MemoryMap& map,
                                    std::uint64_t bytes,
                                    std::span<const RemoteAddr> near);

}  // namespace heapattach::trace
