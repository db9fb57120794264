#pragma once

#include <cstddef>

#include "report/model/model.h"
#include "report/trace/trace.h"

namespace heapattach::trace {

// Ends those objects of a trace that a later snapshot of the process does not find alive, and
// returns their number. (An object that is alive at such an address proves nothing: it may have
// been allocated since.) Does nothing if the snapshot is not complete.
std::size_t end_unmarked(Trace& trace, const snapshot::Snapshot& heap);

}  // namespace heapattach::trace
