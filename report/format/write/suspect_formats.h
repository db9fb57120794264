#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "report/analyze/suspects.h"
#include "report/format/write/growth_formats.h"
#include "report/format/write/sampled_code.h"
#include "report/format/write/table.h"
#include "report/model/model.h"

// Formats the suspects of a snapshot and, after --trace, what grows and which code adds to it.
namespace heapattach {

// The growth between two looks at the heap, the second at the end of a recording.
struct SuspectGrowth {
  std::chrono::milliseconds apart{};        // the two looks
  GrowthReport growth;                      // of the two snapshots
  std::vector<std::vector<CodeSite>> code;  // of the new objects of each holder
  CodeRecording recording;
};

struct SuspectReport {
  analyze::Suspects found;
  std::optional<SuspectGrowth> growth = {};  // none: nothing was recorded
};

// The growth, if it is known; then for each suspect a sentence, the path to it, and its contents by
// type.
[[nodiscard]] std::string format_suspects_text(const snapshot::Snapshot& snapshot,
                                               const SuspectReport& report,
                                               const TextStyle& style);
[[nodiscard]] std::string format_suspects_json(const snapshot::Snapshot& snapshot,
                                               const SuspectReport& report);

}  // namespace heapattach
