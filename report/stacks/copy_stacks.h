#pragma once

#include <chrono>
#include <span>

#include "attach/process/expected_map.h"
#include "attach/stop/freeze.h"
#include "report/stacks/held_stacks.h"
#include "report/stacks/stack_target.h"

namespace heapattach::stacks {

// Copies the stacks of a stopped target, and what they need, into `held`. If `expected` is not
// null, it belongs to the map that `held` has; then the map is checked while the stacks are copied
// by it, and if it has changed, what is missing by the new one is copied after that.
Result<void> copy_stacks(const StackTarget& target,
                         const ExpectedMap* expected,
                         std::span<const FrozenThread> threads,
                         std::chrono::steady_clock::time_point deadline,
                         HeldStacks& held);

}  // namespace heapattach::stacks
