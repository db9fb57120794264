#pragma once

#include <string>

#include "attach/base/deadline.h"
#include "attach/base/error.h"
#include "report/cli/console.h"
#include "report/exit_status.h"

namespace heapattach {

// The message for the user: what was attempted, on what, why it failed and, unless the message
// already says so, what to try.
[[nodiscard]] std::string error_message(const Error& error, Stage stage);

// Prints the message and returns the exit status.
[[nodiscard]] ExitStatus report_failure(const Error& error,
                                        Stage stage,
                                        const Deadline& deadline,
                                        Console& console);

}  // namespace heapattach
