#pragma once

#include <optional>

#include <sys/types.h>

#include "attach/base/result.h"

namespace heapattach {

// Makes SIGINT and SIGTERM request an orderly exit instead of killing us: waits and copies in this
// room then fail with kind Interrupted, and the target is released on the way out. A second such
// signal kills us at once; the kernel then releases the target. A signal that was ignored (nohup)
// stays ignored.
void install_interrupt_handlers();

// For a process with a guardian: handles only the signals that `guardian` forwards. A terminal
// sends signals to both processes, and the guardian handles a second one.
void install_interrupt_handlers(pid_t guardian);

// The signal that interrupted us, if any.
[[nodiscard]] std::optional<int> interrupted_by() noexcept;

// Clears that signal, because whatever follows is what the user asked for, such as reporting
// partial results. A second signal still kills us at once.
void accept_interrupt() noexcept;

// Fails with Interrupted if a signal has interrupted us.
Result<void> check_interrupt();

}  // namespace heapattach
