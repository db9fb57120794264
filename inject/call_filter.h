#pragma once

#include "attach/sandbox/filter_program.h"
#include "inject/call_rules.h"

namespace heapattach {

// The values by which PTRACE_GETEVENTMSG reports a call that the filter stops.
inline constexpr unsigned kTriesProcess = 1;
inline constexpr unsigned kTriesProgram = 2;
inline constexpr unsigned kTriesCall = 3;    // is_allowed() decides by its arguments
inline constexpr unsigned kEndsThread = 4;   // exit; if the first thread exits, we end all others
inline constexpr unsigned kSharedFutex = 5;  // a futex without FUTEX_PRIVATE_FLAG

// A seccomp filter for a clone that will run: free calls pass, and all other calls stop the clone
// so that we can decide.
FilterProgram call_filter(const CallRules& rules);

}  // namespace heapattach
