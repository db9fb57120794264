#pragma once

#include <string>

#include "report/analyze/find_matches.h"
#include "report/format/write/table.h"

// The objects that --find found; one format per source file.
namespace heapattach {

// For people: how many, and a line for each of the first `most`; 0: of all.
[[nodiscard]] std::string format_find_text(const snapshot::Snapshot& snapshot,
                                           const analyze::FindMatches& matches,
                                           std::size_t most,
                                           const TextStyle& style);

// For programs.
[[nodiscard]] std::string format_find_json(const snapshot::Snapshot& snapshot,
                                           const analyze::FindMatches& matches,
                                           std::size_t most);

}  // namespace heapattach
