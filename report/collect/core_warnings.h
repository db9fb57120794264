#pragma once

#include <string>
#include <vector>

#include "attach/core/core_file.h"
#include "symbols/elf/module.h"

namespace heapattach::snapshot {

// Warnings about a core file: what it lacks, and which files of its process could not be used or
// have changed since.
[[nodiscard]] std::vector<std::string> warnings_of(const CoreFile& core, const Modules& modules);

// Says by how much a core file is cut off. Call this only for a file that is.
[[nodiscard]] std::string cut_core(const CoreFile& core);

}  // namespace heapattach::snapshot
