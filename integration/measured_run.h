#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "integration/tool.h"

namespace heapattach {

// A run of heapattach, and the resources that all of its processes used together. Shared memory
// counts once (PSS).
struct MeasuredRun {
  ToolRun run;
  std::uint64_t peak_bytes = 0;
  double milliseconds = 0;
};

MeasuredRun run_measured(const std::vector<std::string>& arguments);

}  // namespace heapattach
