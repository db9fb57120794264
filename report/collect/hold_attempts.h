#pragma once

#include <functional>

#include "report/collect/take.h"

namespace heapattach::snapshot {

// One way of holding a target and copying its heap: freeze, clone, or read it as it runs. All that
// hold_attempts() sees of the outside world.
struct HoldAttempts {
  // True if the heap was copied; false if it was inconsistent, such as during a collection. With
  // `is_last` the parts that do not fit are accepted.
  std::function<Result<bool>(Hold hold, bool is_last)> once;
  // Forgets what was copied so far: another way of holding begins.
  std::function<Result<void>()> start_afresh;
  std::function<void()> wait;
};

// Holds the target in the way `hold` and copies its heap. Tries again while the heap is
// inconsistent, at most four times. A clone that is refused gives way to a freeze where
// options.hold is Auto; any other error ends it.
Result<void> hold_attempts(Hold hold, const TakeOptions& options, const HoldAttempts& attempts);

}  // namespace heapattach::snapshot
