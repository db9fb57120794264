#pragma once

#include <string>

#include "report/cli/options.h"

namespace heapattach {

// The time for file names: no colons, and sortable.
[[nodiscard]] std::string file_time();

// The destination of the report: a file name with %p and so on expanded; empty for standard output.
[[nodiscard]] std::string output_name(const Options& options);
// Whether each of several processes gets a file of its own, with its pid in the name.
[[nodiscard]] bool has_file_for_each(const Options& options);

}  // namespace heapattach
