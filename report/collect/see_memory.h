#pragma once

#include <span>
#include <vector>

#include "attach/stop/freeze.h"
#include "report/collect/memory_account.h"
#include "report/request.h"
#include "symbols/crystal/fibers.h"
#include "symbols/heap/blocks.h"

namespace heapattach::snapshot {

// Reads, while the process is held, which of its memory is resident, and records where the heap's
// blocks and the stacks of its threads and fibers are.
Result<SeenMemory> see_memory(const Process& process,
                              const heap::BlockIndex& index,
                              const heap::Shape& shape,
                              std::span<const FrozenThread> threads,
                              std::span<const crystal::FiberStack> fibers);

// Adds malloc's memory, which is known only when the copy has been read.
void add_malloc(const Process& process, std::vector<Range> memory, SeenMemory& seen);

// The memory of a process whose heap cannot be read, or is read in another way.
struct SeenProcess {
  Header header;  // the origin only
  SeenMemory memory;
};
// Reads that memory, and stops nothing. Returns Unsupported for a core file.
Result<SeenProcess> see_process(const Request& request);

}  // namespace heapattach::snapshot
