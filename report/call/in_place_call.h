#pragma once

#include "report/call/function_call.h"

namespace heapattach {

// Calls the function in the process itself, on a thread that is at a safe point (safe_point.h), and
// restores the thread. While there is no such thread, the threads are released and checked again,
// for a few seconds. If the call was never made, the error has the reason why no thread was
// suitable; how the function ends is in the report, not an error.
Result<CallReport> call_in_process(const CallOptions& options);

}  // namespace heapattach
