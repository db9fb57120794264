#pragma once

#include "report/collect/held_heap.h"

// The heap of malloc: all private memory is copied while the target is held, and the heap is found
// in the copy afterwards.
namespace heapattach::snapshot {

// The memory to copy. Pages that were never touched are left out of large mappings.
Result<std::vector<Range>> plan_malloc_copy(const Process* process,
                                            const Modules& modules,
                                            const MemoryMap& map);

// Finds the heap in the copy and fills the index, the counters and the roots. Call it when the
// target runs again.
Result<void> read_malloc_heap(const Target& target, HeldHeap& held);

// All memory of the process that is resident; none of a core file.
std::optional<std::uint64_t> resident_bytes(const Target& target);

// The writable memory of the modules.
std::vector<Range> data_of(const Modules& modules);

}  // namespace heapattach::snapshot
