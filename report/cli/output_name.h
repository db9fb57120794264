#pragma once

#include <string>

#include "report/cli/options.h"

namespace heapattach {

// Where the report goes: a file's name with %p and its like expanded, empty for standard output.
[[nodiscard]] std::string output_name(const Options& options);

}  // namespace heapattach
