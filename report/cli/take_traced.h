#pragma once

#include <memory>

#include "report/cli/runner.h"
#include "report/trace/trace.h"

namespace heapattach {

struct TracedHeap {
  const snapshot::Snapshot* heap = nullptr;  // lives as long as the job
  std::shared_ptr<trace::Trace> trace;
};

// Records as `of_trace` says, and takes the heap as `of_heap` says while the recorder still follows
// the ends of its samples. The job has its whole time for what comes afterwards.
Result<TracedHeap> take_traced(Job& job, const Options& of_trace, const Options& of_heap);

// The options of the trace that --trace TIME asks for beside a report on a heap.
[[nodiscard]] Options options_of_trace(const Options& options);

}  // namespace heapattach
