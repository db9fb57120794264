#pragma once

#include <vector>

#include "report/analyze/leaks.h"
#include "report/format/write/leak_formats.h"
#include "report/model/model.h"
#include "report/trace/places.h"
#include "report/trace/trace.h"

// Which code allocated what leaked, by a trace that lasted until the heap was read.
namespace heapattach {

// Leaves only the samples of leaked allocations in the trace, and gives them their types.
void keep_leaked(trace::Trace& trace,
                 const snapshot::Snapshot& snapshot,
                 const std::vector<analyze::LeakedObject>& leaked);

// The code behind each row of `found`, by such a trace.
[[nodiscard]] std::vector<LeakCode> code_of_leaks(const trace::Trace& trace,
                                                  const snapshot::Snapshot& snapshot,
                                                  const analyze::Leaks& found,
                                                  const trace::FrameChoice& frames);

}  // namespace heapattach
