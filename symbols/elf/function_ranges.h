#pragma once

#include <vector>

#include "attach/base/remote_addr.h"
#include "symbols/elf/module.h"

namespace heapattach {

// The functions of a module that have call frame information, sorted and disjoint: all that a
// compiler made, even in a stripped program. Found by the shape of .eh_frame, because a static
// program of glibc has no index of it. Empty if there is none.
[[nodiscard]] std::vector<Range> function_ranges(const Module& module);

}  // namespace heapattach
