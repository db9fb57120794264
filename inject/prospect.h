#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "attach/process/process.h"

namespace heapattach {

// Returns why cloning `process` would fail, as far as that can be seen while it runs: too little
// memory, a filter on all threads, or no room for the instructions. Returns nothing if a clone
// should succeed without stopping the process for longer than `longest`.
std::optional<std::string> clone_obstacle(const Process& process,
                                          const MemoryMap& map,
                                          const MemoryReader& memory,
                                          std::chrono::milliseconds longest);

}  // namespace heapattach
