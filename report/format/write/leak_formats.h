#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "report/analyze/leaks.h"
#include "report/format/write/columns.h"

// Formats the leaks of a snapshot.
namespace heapattach {

struct LeakReport {
  analyze::Leaks found;
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
