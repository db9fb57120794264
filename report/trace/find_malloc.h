#pragma once

#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "inject/trace/hooks.h"
#include "report/collect/opened.h"

namespace heapattach::trace {

// The functions of the C library's malloc to hook, glibc's or musl's. Each allocation counts once:
// if one of them calls or jumps to another, the allocation counts for the first. If something else
// defines malloc and calls the library's, as a preloaded library may, the library's is hooked, and
// its caller is on the stacks.
//
// In a static program without symbols, the functions are found by what calls what, and proved by
// calls in copies of the process. Unless `may_copy`, they are not proved, and must not be patched;
// a note in `notes` says so.
//
// Fails with Unsupported if the process allocates with neither, and with Impossible if their
// functions are not found.
Result<std::vector<MallocEntry>> find_malloc(snapshot::Opened& target,
                                             const Request& request,
                                             bool may_copy,
                                             std::vector<std::string>& notes);

}  // namespace heapattach::trace
