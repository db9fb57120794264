#pragma once

#include <functional>
#include <optional>

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"
#include "report/collect/memory_account.h"
#include "report/deadline.h"
#include "report/model/model.h"

namespace heapattach {

// A heap and, of a live process, its memory at the same moment.
struct TakenSummary {
  snapshot::Snapshot snapshot;
  std::optional<snapshot::SeenMemory> memory;
};
using TakeSummary = std::function<Result<TakenSummary>(
    const Options& options, const Deadline& deadline, Console& console)>;

// A run of --summary: what the process's memory is made of, and what the collector's heap holds.
[[nodiscard]] ExitStatus run_summary(const Options& options,
                                     const TakeSummary& take,
                                     Console& console);

}  // namespace heapattach
