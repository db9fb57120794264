#pragma once

#include <string>
#include <vector>

#include "symbols/elf/module.h"

namespace heapattach {

// Why a module has no names: its file is gone, is another build than the one in memory, or is no
// plain file. "" if it has some, and of what was never a file: code that a program makes.
[[nodiscard]] inline std::string why_without_names(const Module& module) {
  if (module.path().starts_with("/memfd:")) return {};
  for (const std::string& note : module.notes()) {
    if (note.starts_with("no symbols: ")) return module.path() + ": " + note;
  }
  return {};
}

}  // namespace heapattach
