#pragma once

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/model/model.h"

namespace heapattach {

// With --redact: puts stand-ins for the names in what was taken, and says where they hold for this
// snapshot only.
void redact_if_asked(const Options& options, snapshot::Snapshot& snapshot, Console& console);

}  // namespace heapattach
