#pragma once

#include <optional>

#include <sys/types.h>

#include "attach/result.h"

namespace heapattach {

// Makes SIGINT and SIGTERM request an end instead of ending us: waits and copies in this room then
// fail with kind Interrupted, and the target is released on the way out. A second such signal ends
// us at once; the kernel then releases the target. A signal that was ignored (nohup) stays ignored.
void install_interrupt_handlers();

// The same for a process with a guardian: heeds only signals that `guardian` forwards. A terminal
// sends signals to both, and the guardian handles a second one.
void install_interrupt_handlers(pid_t guardian);

// The signal that asked us to end, if any.
[[nodiscard]] std::optional<int> interrupted_by() noexcept;

// Forgets that signal: what we do from now on is what the user asked for, such as to report what
// there is. A second one still ends us at once.
void accept_interrupt() noexcept;

// Interrupted if a signal asked us to end.
Result<void> check_interrupt();

}  // namespace heapattach
