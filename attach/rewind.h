#pragma once

#include <cstdint>
#include <optional>

#include "attach/registers.h"

namespace heapattach {

// Most blocking calls go on by themselves after a stop: the kernel restarts them. A few return
// EINTR instead, even if no signal came (signal(7)). Those that wait without a time limit can be
// called again as if nothing had been; a timed one would wait for its whole time once more, so it
// keeps its EINTR.

// Whether `at_stop` is a thread that the stop has thrown out of such an untimed call.
[[nodiscard]] bool is_rewindable(const RawRegisters& at_stop);

// The registers with which it enters the call again; none if it is not in one, or if one of
// `deliverable_signals` (a mask: pending and not blocked) is to interrupt the call anyway.
[[nodiscard]] std::optional<RawRegisters> rewound(const RawRegisters& at_stop,
                                                  std::uint64_t deliverable_signals);

}  // namespace heapattach
