#pragma once

#include <cstddef>

#include "report/model/model.h"
#include "report/trace/trace.h"

namespace heapattach::trace {

// Adds to a trace that the objects which a later snapshot of the process does not find alive are
// dead, as found by the mark at the end, and returns their number. (That an object is alive at the
// address of another one proves nothing: it may have been allocated since.) Does nothing if the
// snapshot is not complete.
std::size_t end_unmarked(Trace& trace, const snapshot::Snapshot& heap);

}  // namespace heapattach::trace
