#pragma once

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/model/model.h"

namespace heapattach {

// With --redact: puts placeholders for the names into the snapshot, and reports if they are valid
// for this snapshot only.
void redact_if_asked(const Options& options, snapshot::Snapshot& snapshot, Console& console);

}  // namespace heapattach
