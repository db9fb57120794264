#pragma once

#include <string>

#include "report/analyze/why.h"
#include "report/format/write/table.h"

// What keeps objects alive, as text; one format per source file.
namespace heapattach {

// For people: for a type, the paths that reach most of its objects first, each with a summary, the
// path to one of them, and what all of them depend on.
[[nodiscard]] std::string format_why_text(const snapshot::Snapshot& snapshot,
                                          const analyze::Why& why,
                                          const TextStyle& style);

// For programs.
[[nodiscard]] std::string format_why_json(const snapshot::Snapshot& snapshot,
                                          const analyze::Why& why);

}  // namespace heapattach
