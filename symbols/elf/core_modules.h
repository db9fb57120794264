#pragma once

#include "attach/core/core_file.h"
#include "symbols/elf/module.h"

namespace heapattach {

// Loads the modules of a core file's process as Modules::load does for a live one, but only by
// their paths, on this machine or below the sysroot. Lends them to `core`, which can then also read
// the memory that was omitted because it is in those files.
Result<Modules> load_modules(CoreFile& core,
                             const SymbolSearch& search,
                             const Deadline& deadline = {});

}  // namespace heapattach
