#pragma once

#include <string>

#include "attach/fd.h"

namespace heapattach {

// Opens the file of `found` (O_PATH) for reading, if it is a regular file: opening a device or a
// pipe may have effects.
Result<Fd> reopen_if_regular(const Fd& found, const std::string& path);

// Opens a regular file for reading, in a confined process through its broker.
Result<Fd> open_regular(const std::string& path);

// The same without following a link out of `root`, which for a container is another directory than
// ours.
Result<Fd> open_below(const Fd& root, const std::string& path);

// The error of a file that is read instead of a process. What the kernel refuses there says nothing
// about a process, so the kind is Os; what is not the kernel's, such as an interruption, stays.
[[nodiscard]] Error error_of_source(Error error);
// Opens such a file; a pipe without a writer does not block.
Result<Fd> open_source(const std::string& path);

}  // namespace heapattach
