#pragma once

#include "attach/error.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/deadline.h"

namespace heapattach {

// Says what went wrong, and what to try, and returns the status to end with.
[[nodiscard]] ExitStatus report_failure(const Error& error,
                                        Stage stage,
                                        const Deadline& deadline,
                                        Console& console);

}  // namespace heapattach
