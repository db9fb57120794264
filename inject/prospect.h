#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "attach/process.h"

namespace heapattach {

// What would prevent a clone of `process`, as far as can be seen while the process runs: lack of
// memory, a filter on all threads, no room for the instructions. Nothing if a clone should succeed
// that stops the process for at most `longest`.
std::optional<std::string> clone_obstacle(const Process& process,
                                          const MemoryMap& map,
                                          const MemoryReader& memory,
                                          std::chrono::milliseconds longest);

}  // namespace heapattach
