#pragma once

#include <vector>

#include "attach/base/result.h"
#include "inject/trace/hooks.h"
#include "report/collect/opened.h"
#include "report/request.h"

namespace heapattach::trace {

// The functions of malloc to hook in a static program without symbols. With `may_copy`, they are
// proved by calls in copies of the process (prove_malloc.h). Impossible, with what is missing, if
// they are not found or not proved.
Result<std::vector<MallocEntry>> find_stripped(snapshot::Opened& target,
                                               const Request& request,
                                               bool may_copy);

}  // namespace heapattach::trace
