#pragma once

#include <span>

#include "attach/freeze.h"
#include "report/collect/memory_account.h"
#include "symbols/boehm/blocks.h"
#include "symbols/crystal/fibers.h"

namespace heapattach::snapshot {

// Reads what of the process is in memory, while it is held, beside the blocks of its heap and the
// stacks of its threads and fibers.
Result<SeenMemory> see_memory(const Process& process,
                              const boehm::BlockIndex& index,
                              std::span<const FrozenThread> threads,
                              std::span<const crystal::FiberStack> fibers);

}  // namespace heapattach::snapshot
