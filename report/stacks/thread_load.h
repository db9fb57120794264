#pragma once

#include <chrono>
#include <optional>

#include "attach/thread_activity.h"

namespace heapattach::stacks {

// The share of the time between two observations of a thread in which it ran or waited for a
// processor, without `pause`, for which it was stopped. None if they are too close together.
[[nodiscard]] std::optional<double> load_between(const ThreadActivity& before,
                                                 const ThreadActivity& after,
                                                 std::chrono::nanoseconds pause);

}  // namespace heapattach::stacks
