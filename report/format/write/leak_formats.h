#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/analyze/leaks.h"
#include "report/format/write/columns.h"
#include "report/format/write/sampled_code.h"

// Formats the leaks of a snapshot.
namespace heapattach {

// The code behind a row, most objects first; of its roots, or, if no root was sampled, of what only
// they reach.
struct LeakCode {
  bool is_of_roots = true;
  std::vector<CodeSite> sites;
};

struct LeakReport {
  analyze::Leaks found;
  std::optional<CodeRecording> trace;  // none: nothing is known about code
  std::vector<LeakCode> code;          // of each row, if there is a trace
  // If not empty: the reason why there is no verdict on leaks. They are unknown, or there cannot be
  // any.
  std::string no_verdict;
  std::optional<std::size_t> top;  // rows; none: all
  std::string program_end;         // "exited with status 1"; empty unless it was looked at then

  [[nodiscard]] std::size_t shown_rows() const {
    return std::min(top.value_or(found.rows.size()), found.rows.size());
  }
};

// The rows to show, with the columns that leaks_json.cpp declares.
[[nodiscard]] Grid leak_grid(const snapshot::Snapshot& snapshot, const LeakReport& report);

[[nodiscard]] std::string format_leaks_text(const snapshot::Snapshot& snapshot,
                                            const LeakReport& report,
                                            const TextStyle& style);
[[nodiscard]] std::string format_leaks_json(const snapshot::Snapshot& snapshot,
                                            const LeakReport& report);

}  // namespace heapattach
