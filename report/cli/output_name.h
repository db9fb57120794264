#pragma once

#include <string>

#include "report/cli/options.h"

namespace heapattach {

// The destination of the report: a file name with %p and so on expanded; empty for standard output.
[[nodiscard]] std::string output_name(const Options& options);

}  // namespace heapattach
