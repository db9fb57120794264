#pragma once

#include "report/model/model.h"
#include "symbols/elf/module.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::snapshot {

// Says of the snapshot's threads and fibers, which must be there already, where they stand. The
// frames of a Stack are those of its record, in the same order; fibers that stand alike share one.
void join_stacks(const unwind::Stacks& stacks, const Modules& modules, Snapshot& snapshot);

}  // namespace heapattach::snapshot
