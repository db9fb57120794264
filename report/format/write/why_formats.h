#pragma once

#include <string>

#include "report/analyze/why.h"
#include "report/format/write/table.h"

// Formats what keeps objects alive, with one source file per format.
namespace heapattach {

// For people. For a type, starts with the paths that reach most of its objects, each with a
// summary, the path to one of them, and the objects that all of them depend on.
[[nodiscard]] std::string format_why_text(const snapshot::Snapshot& snapshot,
                                          const analyze::Why& why,
                                          const TextStyle& style);

// For programs.
[[nodiscard]] std::string format_why_json(const snapshot::Snapshot& snapshot,
                                          const analyze::Why& why);

}  // namespace heapattach
