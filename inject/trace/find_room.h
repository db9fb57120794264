#pragma once

#include <optional>
#include <span>

#include "attach/memory_map.h"

namespace heapattach::trace {

// Where nothing is mapped: `bytes`, whole pages, from all of which a jump reaches each of `near`,
// and the other way round. Away from memory that grows: the heap and the main stack.
std::optional<RemoteAddr> find_room(const MemoryMap& map,
                                    std::uint64_t bytes,
                                    std::span<const RemoteAddr> near);

}  // namespace heapattach::trace
