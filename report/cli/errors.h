#pragma once

#include <string>

#include "attach/error.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/deadline.h"

namespace heapattach {

// An error for the user: what was attempted, on what, why it failed, and, unless the message has it
// already, what to try.
[[nodiscard]] std::string error_message(const Error& error, Stage stage);

// Prints that, and returns the exit status.
[[nodiscard]] ExitStatus report_failure(const Error& error,
                                        Stage stage,
                                        const Deadline& deadline,
                                        Console& console);

}  // namespace heapattach
