#pragma once

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/cli/runner.h"
#include "report/exit_status.h"

namespace heapattach {

// Runs the requested report on all of its sources. A child does the work, and its guardian ends it
// if it is late, whatever it waits for. Call it while this process has one thread.
[[nodiscard]] ExitStatus run_guarded_work(const Options& options,
                                          const Sources& sources,
                                          const Console::Settings& settings);

}  // namespace heapattach
