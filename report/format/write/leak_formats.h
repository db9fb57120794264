#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/analyze/leaks.h"
#include "report/format/write/columns.h"

// Formats the leaks of a snapshot.
namespace heapattach {

// Code that allocated leaked objects of a row.
struct LeakSite {
  std::uint64_t samples = 0;
  double objects = 0;               // estimated
  std::vector<std::string> frames;  // innermost first
};

// The code behind a row, most objects first; of its roots, or, if no root was sampled, of what only
// they reach.
struct LeakCode {
  bool is_of_roots = true;
  std::vector<LeakSite> sites;
};

// The recording that shows the code.
struct LeakTrace {
  std::uint64_t every = 1;
  std::uint64_t duration_ns = 0;
  std::uint64_t samples = 0;            // of what leaked
  std::uint64_t drops = 0;              // samples that were lost
  std::vector<std::string> shortfalls;  // what is missing in it
};

struct LeakReport {
  analyze::Leaks found;
  std::optional<LeakTrace> trace;  // none: nothing is known about code
  std::vector<LeakCode> code;      // of each row, if there is a trace
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
