#pragma once

#include <vector>

#include <linux/filter.h>

#include "inject/call_rules.h"

namespace heapattach {

// What the kernel tells of a call that the filter stops, as PTRACE_GETEVENTMSG.
inline constexpr unsigned kTriesProcess = 1;
inline constexpr unsigned kTriesProgram = 2;
inline constexpr unsigned kTriesCall = 3;  // to be judged by its arguments: is_allowed()

// A seccomp filter for a clone that is made to run: free calls go through, all others stop for us.
std::vector<sock_filter> call_filter(const CallRules& rules);

}  // namespace heapattach
