#pragma once

#include <string>

#include "report/analyze/find_matches.h"
#include "report/format/write/table.h"

// Formats the objects found by --find, with one source file per format.
namespace heapattach {

// For people: the number of objects, and a line for each of the first `most` (0: all).
[[nodiscard]] std::string format_find_text(const snapshot::Snapshot& snapshot,
                                           const analyze::FindMatches& matches,
                                           std::size_t most,
                                           const TextStyle& style);

// For programs.
[[nodiscard]] std::string format_find_json(const snapshot::Snapshot& snapshot,
                                           const analyze::FindMatches& matches,
                                           std::size_t most);

}  // namespace heapattach
