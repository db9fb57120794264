#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "attach/process.h"

namespace heapattach {

// What would keep a clone of `process` from being made, as far as it shows beforehand, and while
// the process runs: want of room, a filter over all threads, no place for the instructions. Nothing
// if one should succeed that may hold the process up to `longest`.
std::optional<std::string> clone_obstacle(const Process& process,
                                          const MemoryMap& map,
                                          const MemoryReader& memory,
                                          std::chrono::milliseconds longest);

}  // namespace heapattach
