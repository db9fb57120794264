#pragma once

#include "report/call/function_call.h"

namespace heapattach {

// Calls the function in the process itself, on a thread that stands at a safe point (safe_point.h),
// and leaves that as it was found. While none does, the threads are let go and looked at again, for
// some seconds. An error if it did not come to the call, with why no thread would do; what the
// function makes of it is no error but a report.
Result<CallReport> call_in_process(const CallOptions& options);

}  // namespace heapattach
