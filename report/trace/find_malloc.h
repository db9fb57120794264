#pragma once

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "inject/trace/hooks.h"
#include "report/collect/opened.h"

namespace heapattach::trace {

// The functions of glibc's malloc to hook. Each allocation counts once: what one of them allocates
// by calling or jumping to another is the caller's. If something else defines malloc and calls
// glibc's, as a preloaded library may, glibc's is hooked, and its caller is on the stacks.
//
// Fails with Unsupported if the process does not allocate with glibc's malloc, and with Impossible
// if its functions are not found.
Result<std::vector<MallocEntry>> find_malloc(snapshot::Opened& target, const Request& request);

}  // namespace heapattach::trace
