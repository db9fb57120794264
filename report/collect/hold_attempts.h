#pragma once

#include <functional>

#include "report/collect/take_options.h"

namespace heapattach::snapshot {

// The operations that hold_attempts() uses; it has no other contact with the outside world.
struct HoldAttempts {
  // Holds the target once and copies its heap. Returns false if the heap was inconsistent, for
  // example during a collection. With `is_last`, accepts an inconsistent heap.
  std::function<Result<bool>(Hold hold, bool is_last)> once;
  // Discards the partial copy before another way of holding is tried.
  std::function<Result<void>()> start_afresh;
  std::function<void()> wait;
};

// Holds the target as `hold` specifies and copies its heap. Tries again if the heap is
// inconsistent, at most four times. If a clone is refused and options.hold is Auto, falls back to a
// freeze; any other error is returned.
Result<void> hold_attempts(Hold hold, const TakeOptions& options, const HoldAttempts& attempts);

}  // namespace heapattach::snapshot
