#pragma once

#include <string>
#include <vector>

#include "symbols/elf/module.h"

namespace heapattach {

// Why a module has no names: its file is gone, is a different build from the one in memory, or is
// not a regular file. Empty if it has names, or if it never was a file, such as generated code.
[[nodiscard]] inline std::string why_without_names(const Module& module) {
  if (module.path().starts_with("/memfd:")) return {};
  for (const std::string& note : module.notes()) {
    if (note.starts_with("no symbols: ")) return module.path() + ": " + note;
  }
  return {};
}

}  // namespace heapattach
