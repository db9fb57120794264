#pragma once

#include <chrono>

#include "attach/base/deadline.h"
#include "attach/base/result.h"

namespace heapattach {

// Waits between two snapshots. Fails as soon as the user interrupts us.
Result<void> wait_until(std::chrono::steady_clock::time_point until);

// The same deadline, which an interrupt no longer ends: it has ended what was recorded, and must
// not prevent the report on it.
[[nodiscard]] Deadline without_interrupt(Deadline deadline);

}  // namespace heapattach
