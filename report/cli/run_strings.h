#pragma once

#include "report/cli/run.h"

namespace heapattach {

// A run of --strings: takes a snapshot with its texts and writes which are there more than once.
[[nodiscard]] ExitStatus run_strings(const Options& options,
                                     const TakeSnapshot& take,
                                     Console& console);

}  // namespace heapattach
