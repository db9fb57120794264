#pragma once

#include "attach/base/result.h"
#include "report/call/function_call.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/model/model.h"

namespace heapattach {

// Takes the heap of a Ruby process: a copy of the process collects its garbage and dumps its
// objects with Ruby's own ObjectSpace, and the dump is read while the copy writes it. `not_found`
// is the reason why the process has no other supported heap; it is returned if it is not a Ruby
// process either.
Result<snapshot::Snapshot> take_from_ruby(const Options& options,
                                          const Deadline& deadline,
                                          Console& console,
                                          Error not_found);

// Evaluates the code of --ruby in a copy of the process, and returns its output and value.
Result<CallReport> evaluate_ruby(const Options& options,
                                 const Deadline& deadline,
                                 Console& console);

}  // namespace heapattach
