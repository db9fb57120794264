#pragma once

#include <string>

#include "report/collect/examine.h"

// Formats the result of --check.
namespace heapattach {

// For people: one line per fact, with the verdict last.
[[nodiscard]] std::string format_check_table(const snapshot::Examination& found);

// For programs.
[[nodiscard]] std::string format_check_json(const snapshot::Examination& found);

}  // namespace heapattach
