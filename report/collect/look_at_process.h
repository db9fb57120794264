#pragma once

#include <span>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "report/collect/dumped_heap.h"
#include "report/model/process_list.h"

namespace heapattach::snapshot {

// Reads what a listing shows of a process, except its runtime and its heaps. Denied or Traced if
// reports cannot read it, Gone if it has exited. Stops nothing.
Result<ReadableProcess> glance_at_process(pid_t pid);

// Adds the runtime and the heaps, which takes milliseconds, or more for a very large program. They
// stay unknown if the process exits or the deadline passes. A heap of `dumped` is the only one that
// its runtime has.
void look_at_process(std::span<const DumpedHeap* const> dumped,
                     const Deadline& deadline,
                     ReadableProcess& process);

}  // namespace heapattach::snapshot
