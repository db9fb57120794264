#pragma once

#include "attach/base/result.h"
#include "symbols/elf/module.h"

namespace heapattach::glibc {

// Fails with Unsupported if the process does not allocate with glibc's malloc. The message names
// its allocator and says what to do.
Result<void> check_allocator(const Modules& modules);

// Adds the likely reason to an error that says that malloc has no heap: the module that replaces
// glibc's malloc, if there is one.
[[nodiscard]] Error explain_missing(const Modules& modules, Error error);

}  // namespace heapattach::glibc
