#pragma once

#include <string>

#include "report/collect/held_heap.h"
#include "report/collect/target.h"

namespace heapattach::snapshot {

// A program may have the collector call a function of its own for more roots
// (GC_set_push_other_roots). Those of Crystal and of the runtimes that are known are found
// otherwise. Why the result may lack something if it is anybody else's; empty: it is not.
[[nodiscard]] std::string unknown_root_hook(const Target& target, const HeldHeap& held);

}  // namespace heapattach::snapshot
