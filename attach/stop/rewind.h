#pragma once

#include <cstdint>
#include <optional>

#include "attach/arch/registers.h"

namespace heapattach {

// Most blocking calls continue by themselves after a stop: the kernel restarts them. A few return
// EINTR instead, even without a signal (signal(7)). Of these, calls without a timeout can be
// restarted as if nothing had happened. A call with a timeout would wait for its whole time again,
// so it keeps its EINTR.

// Whether the stop interrupted such a call without a timeout; `at_stop` are the thread's registers.
[[nodiscard]] bool is_rewindable(const RawRegisters& at_stop);

// The registers that restart the call; none if there is no such call, or if one of
// `deliverable_signals` (a mask of pending, unblocked signals) will interrupt it anyway.
[[nodiscard]] std::optional<RawRegisters> rewound(const RawRegisters& at_stop,
                                                  std::uint64_t deliverable_signals);

}  // namespace heapattach
