#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "attach/base/result.h"
#include "report/request.h"
#include "report/trace/cells.h"
#include "report/trace/trace.h"

// Records which code of a process allocates.
namespace heapattach::trace {

// How a recording is going, for the line on the terminal.
struct TraceProgress {
  std::chrono::nanoseconds elapsed{};
  std::chrono::nanoseconds length{};  // of the whole recording; 0: until the process exits
  std::uint64_t samples = 0;
  std::uint64_t drops = 0;
  std::uint64_t bytes = 0;    // that the collector has allocated since the start
  std::uint64_t waiting = 0;  // samples that are not in the table yet
};

struct TraceOptions {
  const Request& request;                 // its deadline is that of all, the recording included
  std::vector<std::string> command = {};  // a program to start instead of the process
  std::uint64_t every = std::uint64_t{512} << 10;
  std::chrono::milliseconds length{30'000};  // 0: until the process exits
  std::size_t depth = 0;                     // innermost frames that are kept; 0: all
  // Called a few times a second while the recording runs.
  std::function<void(const TraceProgress&)> on_progress = {};
  // Called about each second with the trace so far, and its cells by `live_parts` in place of its
  // events. May be empty: making it takes time.
  std::function<void(const TraceProgress&, const Trace&, std::vector<Cell>)> on_trace = {};
  CellParts live_parts = {};
};

// Puts the tracer into the process, records for that long, or until the user asks us to end, and
// takes it out again. An error if nothing was recorded, and nothing is in the process then; what
// goes wrong later ends the trace early (Header::reason). Call it while this process has one
// thread.
Result<Trace> take_trace(const TraceOptions& options);

// What would be traced, for --check. Changes nothing, and takes a tenth of a second.
struct TraceFacts {
  std::vector<std::string> entries;
  bool follows_ends = false;       // what is in use will be known
  std::vector<std::string> notes;  // what is not traced, and why
  // What the collector allocates at present; unknown if it does not count that.
  std::optional<double> bytes_per_second;
};
// The share of one processor that the samples of a trace take, about.
[[nodiscard]] double expected_cost(double bytes_per_second, std::uint64_t every);
// Its error is why the process cannot be traced.
Result<TraceFacts> trace_facts(const Request& request);

}  // namespace heapattach::trace
