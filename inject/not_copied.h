#pragma once

#include <string_view>
#include <vector>

#include "attach/freeze.h"
#include "attach/remote_addr.h"

namespace heapattach {

// The memory that no copy of a process has (madvise(2), MADV_DONTFORK), from the text of
// /proc/<pid>/smaps: "dc" among the flags. To make that text takes the kernel long for a large
// heap.
[[nodiscard]] std::vector<Range> not_copied(std::string_view smaps);

// Whether a copy that is made by this thread has what it needs to live: its stack, and the memory
// of its thread pointer, where the kernel writes to whenever it runs (rseq(2)).
[[nodiscard]] bool is_copied(const FrozenThread& thread, const std::vector<Range>& not_copied);

}  // namespace heapattach
