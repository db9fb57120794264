#pragma once

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/model/model.h"

namespace heapattach {

// With --redact, replaces the names in the snapshot by placeholders, and warns if the placeholders
// are valid for this snapshot only.
void redact_if_asked(const Options& options, snapshot::Snapshot& snapshot, Console& console);

}  // namespace heapattach
