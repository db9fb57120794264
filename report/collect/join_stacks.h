#pragma once

#include "report/model/model.h"
#include "symbols/elf/module.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::snapshot {

// Adds stacks to the snapshot's threads and fibers, which must already exist. A Stack has the
// frames of its record, in the same order; fibers with equal stacks share one Stack.
void join_stacks(const unwind::Stacks& stacks, const Modules& modules, Snapshot& snapshot);

}  // namespace heapattach::snapshot
