#pragma once

#include <string>

#include "report/collect/examine.h"

// The result of --check as text.
namespace heapattach {

// For people: a line for each fact, the verdict last.
[[nodiscard]] std::string format_check_table(const snapshot::Examination& found);

// For programs.
[[nodiscard]] std::string format_check_json(const snapshot::Examination& found);

}  // namespace heapattach
