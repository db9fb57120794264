#pragma once

#include <string>

#include "report/analyze/why.h"
#include "report/format/write/table.h"

// What keeps something alive, as text; one format per source file.
namespace heapattach {

// For people: of a type, the ways that lead to most of its objects first, each with a summary, the
// way to one of them, and what all of them hang on.
[[nodiscard]] std::string format_why_text(const snapshot::Snapshot& snapshot,
                                          const analyze::Why& why,
                                          const Look& look);

// For programs.
[[nodiscard]] std::string format_why_json(const snapshot::Snapshot& snapshot,
                                          const analyze::Why& why);

}  // namespace heapattach
