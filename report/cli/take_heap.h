#pragma once

#include "attach/base/deadline.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/collect/take_options.h"
#include "report/model/model.h"
#include "report/request.h"

// Takes the heap of a process as the options say.
namespace heapattach {

// The request for a report on a heap. With --redact, its steps and warnings do not appear.
[[nodiscard]] Request heap_request(const Options& options,
                                   const Deadline& deadline,
                                   Console& console);

// The parts of the heap that the report in the options needs. Borrows the request.
[[nodiscard]] snapshot::TakeOptions take_options(const Options& options, const Request& request);

// Whether Ruby's heap is to be read from outside, which the user must name.
[[nodiscard]] bool reads_ruby_from_outside(const Options& options);
// Whether the heap that the user wants may be Ruby's, read without malloc's.
[[nodiscard]] bool may_be_ruby_heap(const Options& options);

// The heap of a collector or of malloc; of a Ruby process, Ruby's.
Result<snapshot::Snapshot> take_from_process(const Options& options,
                                             const snapshot::TakeOptions& what);

}  // namespace heapattach
