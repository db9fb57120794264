#pragma once

#include <cstdint>

#include "attach/arch/processors.h"
#include "symbols/elf/module.h"

namespace heapattach {

// The processor of a target (e_machine), as the files of its modules say; ours if it has none.
[[nodiscard]] inline std::uint16_t machine_of(const Modules& modules) {
  for (const Module& module : modules.all()) {
    if (!module.file().empty()) return module.machine();
  }
  return kOwnProcessor;
}

}  // namespace heapattach
