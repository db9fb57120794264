#pragma once

#include "attach/memory_map.h"
#include "attach/process.h"
#include "symbols/boehm/collector.h"

namespace heapattach::snapshot {

// The collector of a process that goes on running. Its heap may have grown since `map` was read,
// and what is not in the map does not fit: the map is read again then. `process` is null for a core
// file.
Result<boehm::Collector> find_collector(const Process* process,
                                        const Modules& modules,
                                        const MemoryReader& memory,
                                        MemoryMap& map);

}  // namespace heapattach::snapshot
