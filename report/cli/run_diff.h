#pragma once

#include "report/cli/run.h"

namespace heapattach {

// A run of --diff: takes two or three snapshots, from files or processes, and writes what grew.
[[nodiscard]] ExitStatus run_diff(const Options& options,
                                  const TakeSnapshot& take,
                                  Console& console);

}  // namespace heapattach
