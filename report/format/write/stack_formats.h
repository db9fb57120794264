#pragma once

#include <string>

#include "report/stacks/stack_report.h"

// The result of --stacks as text.
namespace heapattach {

struct StackStyle {
  bool with_colour = false;  // also marks the innermost frame of the program's own code
  bool is_brief = false;     // frames of the runtime and of libraries are folded
};

// For people: what is wrong, the threads, the fibers by stack.
[[nodiscard]] std::string format_stacks_text(const stacks::StackReport& report,
                                             const StackStyle& style);

// For programs: one JSON object on one line.
[[nodiscard]] std::string format_stacks_json(const stacks::StackReport& report);

// For flame graphs: a line for each stack, outermost function first, with the number of threads or
// fibers.
[[nodiscard]] std::string format_stacks_folded(const stacks::StackReport& report);

}  // namespace heapattach
