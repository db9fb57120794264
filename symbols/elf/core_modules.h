#pragma once

#include "attach/core_file.h"
#include "symbols/elf/module.h"

namespace heapattach {

// The modules of a core file's process, found as Modules::load finds those of a live one, but only
// by their paths, on this machine or below the sysroot. They are lent to `core`, which then also
// has the memory that was left out because a file has it.
Result<Modules> load_modules(CoreFile& core, const SymbolSearch& search);

}  // namespace heapattach
