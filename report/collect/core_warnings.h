#pragma once

#include <string>
#include <vector>

#include "attach/core/core_file.h"
#include "symbols/elf/module.h"

namespace heapattach::snapshot {

// Warnings about a core file: what it lacks, and which of its process's files could not be used or
// have changed since.
[[nodiscard]] std::vector<std::string> warnings_of(const CoreFile& core, const Modules& modules);

// Whether a core file is cut off, and by how much.
[[nodiscard]] std::string cut_core(const CoreFile& core);

}  // namespace heapattach::snapshot
