#pragma once

#include <string>
#include <vector>

#include "attach/core_file.h"
#include "symbols/elf/module.h"

namespace heapattach::snapshot {

// What somebody who looks into a core file should know: what of it is missing, and which of the
// files that its process had could not be used, or are other ones by now.
[[nodiscard]] std::vector<std::string> warnings_of(const CoreFile& core, const Modules& modules);

// That a core file is cut off, and by how much.
[[nodiscard]] std::string cut_core(const CoreFile& core);

}  // namespace heapattach::snapshot
