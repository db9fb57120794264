#pragma once

#include <string>

#include "report/analyze/suspects.h"
#include "report/format/write/table.h"

// Formats the suspects, with one source file per format.
namespace heapattach {

// For people: for each suspect a sentence, the path to it, and its contents by type.
[[nodiscard]] std::string format_suspects_text(const snapshot::Snapshot& snapshot,
                                               const analyze::Suspects& suspects,
                                               const TextStyle& style);

// For programs.
[[nodiscard]] std::string format_suspects_json(const snapshot::Snapshot& snapshot,
                                               const analyze::Suspects& suspects);

}  // namespace heapattach
