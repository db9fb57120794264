#pragma once

#include "report/cli/runner.h"

namespace heapattach {

// The files with symbols that the user names.
[[nodiscard]] SymbolSearch symbol_search(const Options& options);

// The sources that read real processes and files.
[[nodiscard]] const Sources& real_sources();

}  // namespace heapattach
