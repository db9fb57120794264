#pragma once

#include <chrono>
#include <optional>

#include "attach/process/thread_activity.h"

namespace heapattach::stacks {

// The fraction of the time between two observations during which a thread ran or waited for a
// processor, not counting `pause`, when it was stopped. None if the observations are too close
// together.
[[nodiscard]] std::optional<double> load_between(const ThreadActivity& before,
                                                 const ThreadActivity& after,
                                                 std::chrono::nanoseconds pause);

}  // namespace heapattach::stacks
