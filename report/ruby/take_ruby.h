#pragma once

#include "attach/base/result.h"
#include "report/call/function_call.h"
#include "report/collect/dumped_heap.h"

namespace heapattach {

// The heap of a Ruby process: a copy of the process collects its garbage and dumps its objects with
// Ruby's own ObjectSpace, and the dump is read while the copy writes it.
extern const snapshot::DumpedHeap kDumpedByRuby;

// Evaluates code in a copy of the process, and returns its output and value.
Result<CallReport> evaluate_ruby(const CallOptions& options, const std::string& ruby_code);

}  // namespace heapattach
