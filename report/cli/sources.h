#pragma once

#include "report/cli/runner.h"

namespace heapattach {

// The processes and files of the machine.
[[nodiscard]] const Sources& real_sources();

}  // namespace heapattach
