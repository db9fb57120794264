#pragma once

#include <string>

#include "attach/base/fd.h"

namespace heapattach {

// Opens for reading the file that `found` (O_PATH) refers to, if it is a regular file. Opening a
// device or a pipe can have side effects.
Result<Fd> reopen_if_regular(const Fd& found, const std::string& path);

// Opens a regular file for reading. A confined process does so through its broker.
Result<Fd> open_regular(const std::string& path);

// Opens `path` inside `root`, without following links out of it. For a container, `root` differs
// from ours.
Result<Fd> open_below(const Fd& root, const std::string& path);

// Converts an error about a file that is the source in place of a process. Kernel errors become
// kind Os, because they are not about a process; other kinds, such as Interrupted, are kept.
[[nodiscard]] Error error_of_source(Error error);
// Opens a source file, without blocking on a pipe that has no writer.
Result<Fd> open_source(const std::string& path);

}  // namespace heapattach
