#pragma once

#include <vector>

#include "attach/base/result.h"
#include "attach/memory/memory_reader.h"
#include "inject/trace/hooks.h"
#include "symbols/elf/module.h"

namespace heapattach::trace {

// The functions of musl's malloc to hook, in `library`, which contains them. Fails with Impossible
// if it has no symbols for them.
Result<std::vector<MallocEntry>> find_musl(const Module& library, const MemoryReader& memory);

}  // namespace heapattach::trace
