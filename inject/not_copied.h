#pragma once

#include <string_view>
#include <vector>

#include "attach/base/remote_addr.h"
#include "attach/stop/freeze.h"

namespace heapattach {

// The memory that a clone does not get (madvise(2), MADV_DONTFORK): the mappings with the flag "dc"
// in the text of /proc/<pid>/smaps. For a large heap, the kernel takes long to produce that text.
[[nodiscard]] std::vector<Range> not_copied(std::string_view smaps);

// Whether a clone made by this thread gets the memory that it needs to run: the thread's stack, and
// the memory at the thread pointer, to which the kernel writes whenever the thread runs (rseq(2)).
[[nodiscard]] bool is_copied(const FrozenThread& thread, const std::vector<Range>& not_copied);

}  // namespace heapattach
