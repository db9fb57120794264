#pragma once

#include <vector>

#include <linux/filter.h>

#include "inject/call_rules.h"

namespace heapattach {

// What the kernel reports about a call that the filter stops (PTRACE_GETEVENTMSG).
inline constexpr unsigned kTriesProcess = 1;
inline constexpr unsigned kTriesProgram = 2;
inline constexpr unsigned kTriesCall = 3;  // is_allowed() decides by its arguments

// A seccomp filter for a clone that will run: free calls go through, all others stop for us.
std::vector<sock_filter> call_filter(const CallRules& rules);

}  // namespace heapattach
