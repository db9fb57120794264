#pragma once

#include "report/cli/run.h"

namespace heapattach {

// A run of --why, --suspects, --graph or --sizes ADDRESS: takes the snapshot, looks into it, writes
// what it found.
[[nodiscard]] ExitStatus run_explain(const Options& options,
                                     const TakeSnapshot& take,
                                     Console& console);

}  // namespace heapattach
