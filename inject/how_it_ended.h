#pragma once

#include "inject/remote_control.h"

namespace heapattach {

// The error for a thread that ended while it ran our code: Gone, with the signal if it is known.
[[nodiscard]] Error ended_for_us(const RemoteStop& stop);

}  // namespace heapattach
