#pragma once

#include <string>

#include "report/format/write/table.h"
#include "report/stacks/stack_report.h"

// Formats the result of --stacks.
namespace heapattach {

// For people: the findings, the threads, and the fibers grouped by stack. Colour also marks the
// innermost frame in the program's own code.
[[nodiscard]] std::string format_stacks_text(const stacks::StackReport& report,
                                             const TextStyle& style);

// For programs: one JSON object on one line.
[[nodiscard]] std::string format_stacks_json(const stacks::StackReport& report);

// For flame graphs: a line for each stack, outermost function first, with the number of threads or
// fibers.
[[nodiscard]] std::string format_stacks_folded(const stacks::StackReport& report);

}  // namespace heapattach
