#pragma once

#include <chrono>
#include <optional>

#include "attach/thread_activity.h"

namespace heapattach::stacks {

// The share of the time between two looks at a thread in which it had a processor or waited for
// one; `pause`, for which it was stopped, is taken off. None if the looks are too close together.
[[nodiscard]] std::optional<double> load_between(const ThreadActivity& before,
                                                 const ThreadActivity& after,
                                                 std::chrono::nanoseconds pause);

}  // namespace heapattach::stacks
