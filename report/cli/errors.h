#pragma once

#include <string>

#include "attach/error.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/deadline.h"

namespace heapattach {

// What the user reads of an error: what was attempted, on what, why it failed, and, where something
// can be done about it that the message does not say yet, what to try.
[[nodiscard]] std::string error_message(const Error& error, Stage stage);

// Prints that, and returns the status to end with.
[[nodiscard]] ExitStatus report_failure(const Error& error,
                                        Stage stage,
                                        const Deadline& deadline,
                                        Console& console);

}  // namespace heapattach
