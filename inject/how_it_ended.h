#pragma once

#include "inject/remote_control.h"

namespace heapattach {

// Gone, for a thread that ended while it ran for us: by a signal, if the kernel told that.
[[nodiscard]] Error ended_for_us(const RemoteStop& stop);

}  // namespace heapattach
