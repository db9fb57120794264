#pragma once

#include <string_view>
#include <vector>

#include "attach/freeze.h"
#include "attach/remote_addr.h"

namespace heapattach {

// The memory that a copy of a process does not get (madvise(2), MADV_DONTFORK), from the text of
// /proc/<pid>/smaps: "dc" among the flags. For a large heap the kernel takes long to make that
// text.
[[nodiscard]] std::vector<Range> not_copied(std::string_view smaps);

// Whether a copy made by this thread has what it needs to live: its stack, and the memory at its
// thread pointer, which the kernel writes whenever the thread runs (rseq(2)).
[[nodiscard]] bool is_copied(const FrozenThread& thread, const std::vector<Range>& not_copied);

}  // namespace heapattach
