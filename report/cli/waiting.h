#pragma once

#include <chrono>

#include "attach/base/result.h"

namespace heapattach {

// Waits between two snapshots. Fails as soon as the user interrupts us.
Result<void> wait_until(std::chrono::steady_clock::time_point until);

}  // namespace heapattach
