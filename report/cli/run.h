#pragma once

#include <functional>

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"
#include "report/deadline.h"
#include "report/model/model.h"

namespace heapattach {

// Makes the snapshot that the options ask for; run() does not care from what.
using TakeSnapshot = std::function<Result<snapshot::Snapshot>(
    const Options& options, const Deadline& deadline, Console& console)>;

// The whole of a run once the options are known: open the output, take the snapshot, write the
// report, say how it went. The output is opened first, so that a target is not held in vain.
[[nodiscard]] ExitStatus run(const Options& options, const TakeSnapshot& take, Console& console);

}  // namespace heapattach
