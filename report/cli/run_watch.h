#pragma once

#include "report/cli/run.h"

namespace heapattach {

// A run of --watch: counts the process again and again, and writes which types grew each time. If
// it ends meanwhile, or the user ends us, what was seen until then is written all the same.
[[nodiscard]] ExitStatus run_watch(const Options& options,
                                   const TakeSnapshot& take,
                                   Console& console);

}  // namespace heapattach
