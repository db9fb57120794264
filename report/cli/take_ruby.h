#pragma once

#include "attach/result.h"
#include "report/call/function_call.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/model/model.h"

namespace heapattach {

// The heap of the options' process if that is a Ruby process: a copy of it collects its garbage,
// and then dumps its objects with Ruby's own ObjectSpace, which is read as the copy writes it. If
// no copy can, and counts are enough, the heap is read from outside (ruby_target.h), as it is of a
// core file. `not_found` is why the process has no heap of another kind: it is returned if it is no
// Ruby process either.
Result<snapshot::Snapshot> take_from_ruby(const Options& options,
                                          const Deadline& deadline,
                                          Console& console,
                                          Error not_found);

// What the code of --ruby writes and gives, in a copy of the options' process.
Result<CallReport> evaluate_ruby(const Options& options,
                                 const Deadline& deadline,
                                 Console& console);

}  // namespace heapattach
