#pragma once

#include "attach/base/deadline.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/diagnose/evidence.h"

namespace heapattach {

// Takes everything that a diagnosis looks at: of a process in one freeze, unless it is Ruby or has
// no heap that can be read; then what else there is. A file has less of it.
Result<diagnose::Evidence> take_diagnosis(const Options& options,
                                          const Deadline& deadline,
                                          Console& console);

}  // namespace heapattach
