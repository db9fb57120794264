#pragma once

#include <string>

#include "report/collect/held_heap.h"
#include "report/collect/target.h"

namespace heapattach::snapshot {

// A program may make the collector call a function of its own for more roots
// (GC_set_push_other_roots). The roots of Crystal and of the known runtimes are found in other
// ways. Returns why the result may be incomplete if it is another hook; otherwise empty.
[[nodiscard]] std::string unknown_root_hook(const Target& target, const HeldHeap& held);

}  // namespace heapattach::snapshot
