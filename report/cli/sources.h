#pragma once

#include "report/cli/runner.h"

namespace heapattach {

// The part of the options that reports on processes share, with the deadline of this run, and with
// the console as the place for steps, warnings and progress.
[[nodiscard]] Request request_of(const Options& options,
                                 const Deadline& deadline,
                                 Console& console);

// The sources that read real processes and files.
[[nodiscard]] const Sources& real_sources();

}  // namespace heapattach
