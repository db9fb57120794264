#pragma once

#include <cstdint>
#include <optional>

#include "attach/registers.h"

namespace heapattach {

// Most blocking calls continue by themselves after a stop: the kernel restarts them. A few return
// EINTR instead, even without a signal (signal(7)). Those that wait without a time limit can be
// entered again as if nothing had happened. A timed one would wait for its whole time once more, so
// it keeps its EINTR.

// Whether the stop has interrupted such an untimed call of the thread `at_stop`.
[[nodiscard]] bool is_rewindable(const RawRegisters& at_stop);

// The registers with which it enters the call again; none if it is not in one, or if one of
// `deliverable_signals` (a mask: pending and not blocked) will interrupt the call anyway.
[[nodiscard]] std::optional<RawRegisters> rewound(const RawRegisters& at_stop,
                                                  std::uint64_t deliverable_signals);

}  // namespace heapattach
