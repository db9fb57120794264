#pragma once

#include "report/call/function_call.h"

namespace heapattach {

// Calls the function in the process itself, on a thread that is at a safe point (safe_point.h), and
// restores the thread. If there is no such thread, releases the threads and tries again, for a few
// seconds. Fails only if the call was never made, with the reason why no thread was suitable;
// otherwise the report shows how the function ended.
Result<CallReport> call_in_process(const CallOptions& options);

}  // namespace heapattach
