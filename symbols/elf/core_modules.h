#pragma once

#include "attach/core_file.h"
#include "symbols/elf/module.h"

namespace heapattach {

// The modules of a core file's process, found as Modules::load finds those of a live one, but by
// their paths alone, on this machine or below the sysroot. They are lent to `core`, so that from
// then on it also has the memory that was left out of it because a file has it.
Result<Modules> load_modules(CoreFile& core, const SymbolSearch& search);

}  // namespace heapattach
