#pragma once

#include "attach/result.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/model/model.h"

namespace heapattach {

// The heap in the options' file: a saved snapshot, or a collector's dump. Unsupported if the report
// needs something that such a file lacks, with a description of it.
Result<snapshot::Snapshot> take_from_file(const Options& options,
                                          const Deadline& deadline,
                                          Console& console);

}  // namespace heapattach
