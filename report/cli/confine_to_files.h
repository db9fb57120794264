#pragma once

#include "report/cli/console.h"
#include "report/cli/options.h"

namespace heapattach {

// Whether a report reads only files: snapshots, dumps, core files.
[[nodiscard]] bool is_of_files(const Options& options);

// For such a report, opens the output and gives up all rights except to read the files named in the
// options and, for a core file, the files that it names (attach/sandbox/confined.h). Call it before
// reading any of them.
void confine_to_files(const Options& options, Console& console);

}  // namespace heapattach
