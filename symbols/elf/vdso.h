#pragma once

#include <optional>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "symbols/elf/module.h"

namespace heapattach {

// The code that the kernel maps into every process (vDSO), as a module with the name "[vdso]". It
// has no file, so its image is read from the target's memory. None if the target does not have it.
std::optional<Module> load_vdso(const MemoryReader& memory, const MemoryMap& map);

}  // namespace heapattach
