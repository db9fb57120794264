#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "report/serve/wire.h"

// The two pages about all processes.
namespace heapattach::serve {

// The result of counting one process, for /metrics.
struct ProcessCounts {
  bool is_late = true;  // no answer has arrived
  AnswerMessage answer;
  std::string text;  // OpenMetrics; empty if there are no counts
};

// The most bytes that the counts of all processes may have together. The page copies them, and the
// front has little memory.
inline constexpr std::size_t kMostCountBytes = std::size_t{24} << 20;
// The share of each process, so that the long names of one leave room for the others.
[[nodiscard]] constexpr std::size_t room_for_counts(std::size_t processes) {
  return kMostCountBytes / std::max<std::size_t>(1, processes);
}

// The page with the counts by type and the cost of counting. In Prometheus's older text format,
// counters have the whole name of their samples, and nothing marks the end.
[[nodiscard]] std::string metrics_page(const ServerState& state,
                                       const std::map<pid_t, ProcessCounts>& counts,
                                       bool is_openmetrics);

// The list of processes in HTML, with links to the pages about each.
[[nodiscard]] std::string list_page(const ServerState& state, bool with_recordings);

}  // namespace heapattach::serve
