#pragma once

#include <string>

#include "attach/fd.h"

namespace heapattach {

// Opens what `found` (O_PATH) stands for, to be read, if it is a regular file: with a device or a
// pipe opening may have effects.
Result<Fd> reopen_if_regular(const Fd& found, const std::string& path);

// Opens a regular file to be read, in a confined process through its broker.
Result<Fd> open_regular(const std::string& path);

// The same without following a link out of `root`, which in a container is another place than ours.
Result<Fd> open_below(const Fd& root, const std::string& path);

}  // namespace heapattach
