#pragma once

#include <span>

#include "attach/stop/freeze.h"
#include "report/collect/memory_account.h"
#include "symbols/crystal/fibers.h"
#include "symbols/heap/blocks.h"

namespace heapattach::snapshot {

// Reads, while the process is held, which of its memory is resident, and records where the heap's
// blocks and the stacks of its threads and fibers are.
Result<SeenMemory> see_memory(const Process& process,
                              const heap::BlockIndex& index,
                              std::span<const FrozenThread> threads,
                              std::span<const crystal::FiberStack> fibers);

}  // namespace heapattach::snapshot
