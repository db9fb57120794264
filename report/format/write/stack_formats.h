#pragma once

#include <string>

#include "report/stacks/stack_report.h"

// Formats the result of --stacks.
namespace heapattach {

struct StackStyle {
  bool with_colour = false;  // also marks the innermost frame in the program's own code
  bool is_brief = false;     // fold frames in the runtime and in libraries
};

// For people: the findings, the threads, and the fibers grouped by stack.
[[nodiscard]] std::string format_stacks_text(const stacks::StackReport& report,
                                             const StackStyle& style);

// For programs: one JSON object on one line.
[[nodiscard]] std::string format_stacks_json(const stacks::StackReport& report);

// For flame graphs: a line for each stack, outermost function first, with the number of threads or
// fibers.
[[nodiscard]] std::string format_stacks_folded(const stacks::StackReport& report);

}  // namespace heapattach
