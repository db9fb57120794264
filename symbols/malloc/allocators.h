#pragma once

#include "attach/base/result.h"
#include "symbols/elf/module.h"

namespace heapattach::glibc {

// Unsupported if the process allocates with something else than glibc's malloc; the message names
// it, and what to do.
Result<void> check_allocator(const Modules& modules);

// Of an error because there is no heap of glibc's malloc: names the module that replaces it, if one
// does.
[[nodiscard]] Error explain_missing(const Modules& modules, Error error);

}  // namespace heapattach::glibc
