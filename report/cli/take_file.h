#pragma once

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/model/model.h"

namespace heapattach {

// Reads the heap from the file in the options: a saved snapshot, or a collector's dump. Unsupported
// if the report needs something that such a file does not contain; the message says what.
Result<snapshot::Snapshot> take_from_file(const Options& options,
                                          const Deadline& deadline,
                                          Console& console);

}  // namespace heapattach
