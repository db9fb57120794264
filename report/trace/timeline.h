#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/trace/trace.h"

namespace heapattach::trace {

// Allocations over time, in steps of equal length.
struct Timeline {
  struct Row {
    std::uint32_t type = kNone;
    std::vector<double> bytes;  // allocated in each step
  };
  std::uint64_t step_ns = 0;   // 0: the trace has no duration, and nothing else is set
  std::vector<Row> rows;       // the types with the most bytes first
  std::vector<double> others;  // sum over all other types; empty if there are none
  std::vector<double> in_use;  // bytes in use at the end of each step, of all types
};

// Includes the types that match one of `types`, which are globs; all types if it is empty.
[[nodiscard]] Timeline make_timeline(const Trace& trace,
                                     const std::vector<std::string>& types,
                                     std::size_t steps,
                                     std::size_t most_rows);

}  // namespace heapattach::trace
