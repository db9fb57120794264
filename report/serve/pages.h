#pragma once

#include <map>
#include <string>

#include "report/serve/wire.h"

// The two pages about all processes.
namespace heapattach::serve {

// The result of counting one process, for /metrics.
struct ProcessCounts {
  bool is_late = true;  // until there is an answer
  AnswerMessage answer;
  std::string text;  // OpenMetrics; empty if there are no counts
};

// Counts by type, and what they cost. In Prometheus's older text, counters have the whole name of
// their samples, and nothing marks the end.
[[nodiscard]] std::string metrics_page(const ServerState& state,
                                       const std::map<pid_t, ProcessCounts>& counts,
                                       bool is_openmetrics);

// HTML: the processes, with links to the pages about each.
[[nodiscard]] std::string list_page(const ServerState& state, bool with_recordings);

}  // namespace heapattach::serve
