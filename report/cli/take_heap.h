#pragma once

#include "attach/base/deadline.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/collect/examine.h"
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

// Completes the dry run of a process without a heap that can be read from outside alone, if its
// runtime dumps the heap that the user wants.
Result<void> examine_dumped(const Options& options,
                            const Request& request,
                            snapshot::Examination& found);

// The heap of a collector or of malloc; or the one that the process's runtime dumps.
Result<snapshot::Snapshot> take_from_process(const Options& options,
                                             const snapshot::TakeOptions& what);

}  // namespace heapattach
