#pragma once

#include <optional>

#include <sys/types.h>

#include "attach/result.h"

namespace heapattach {

// Makes SIGINT and SIGTERM ask for an end instead of ending us: waits and copies in this room then
// give up with kind Interrupted, and the target is let go on the way out. A second such signal ends
// us at once; the kernel lets the target go then. One that was ignored (nohup) stays ignored.
void install_interrupt_handlers();

// The same for a process with a guardian: heeds only those signals that `guardian` hands on. A
// terminal sends its own to both, and a second one is the guardian's to act on.
void install_interrupt_handlers(pid_t guardian);

// The signal that asked us to end, if one did.
[[nodiscard]] std::optional<int> interrupted_by() noexcept;

// Interrupted if a signal asked us to end.
Result<void> check_interrupt();

}  // namespace heapattach
