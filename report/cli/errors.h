#pragma once

#include <string>

#include "attach/error.h"
#include "report/cli/exit_status.h"

namespace heapattach {

// What the user reads of an error: what was attempted, on what, why it failed, and, where something
// can be done about it that the message does not say yet, what to try.
[[nodiscard]] std::string error_message(const Error& error, Stage stage);

}  // namespace heapattach
