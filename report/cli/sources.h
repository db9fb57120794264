#pragma once

#include "report/cli/runner.h"

namespace heapattach {

// The sources that read real processes and files.
[[nodiscard]] const Sources& real_sources();

}  // namespace heapattach
