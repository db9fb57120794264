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
#include "report/collect/take_options.h"
#include "report/request.h"
#include "report/trace/cells.h"
#include "report/trace/trace.h"

// Records which code of a process allocates.
namespace heapattach::trace {

// The progress of a recording, for the line on the terminal.
struct TraceProgress {
  std::chrono::nanoseconds elapsed{};
  std::chrono::nanoseconds length{};  // of the whole recording; 0: until the process exits
  std::uint64_t samples = 0;
  std::uint64_t drops = 0;
  std::uint64_t bytes = 0;    // allocated by the collector since the start
  std::uint64_t waiting = 0;  // samples that are not in the table yet
};

struct TraceOptions {
  const Request& request;                 // its deadline includes the recording
  snapshot::HeapChoice heap = {};         // whose allocations are recorded
  std::vector<std::string> command = {};  // a program to start instead of the process
  std::uint64_t every = std::uint64_t{512} << 10;
  std::chrono::milliseconds length{30'000};  // 0: until the process exits
  std::size_t depth = 0;                     // innermost frames that are kept; 0: all
  // Called a few times a second while the recording runs.
  std::function<void(const TraceProgress&)> on_progress = {};
  // Called about once per second with the trace so far, and with its cells by `live_parts` instead
  // of its events. May be empty, which saves time.
  std::function<void(const TraceProgress&, const Trace&, std::vector<Cell>)> on_trace = {};
  CellParts live_parts = {};
  // Called at the end of the recording, while the ends of its samples are still followed. So the
  // samples that the trace shows as in use are still in use after this call, and none is newer than
  // it. May be empty.
  std::function<void()> before_leaving = {};
};

// Inserts the tracer into the process, records for `length` or until the user asks for the end, and
// removes it again. An error means that nothing was recorded and nothing is left in the process.
// Later problems end the trace early (Header::reason). Call it while this process has one thread.
Result<Trace> take_trace(const TraceOptions& options);

// Facts about a possible trace, for --check. Finding them changes nothing and takes a tenth of a
// second.
struct TraceFacts {
  std::vector<std::string> entries;
  bool follows_ends = false;       // it will be known what is in use
  std::vector<std::string> notes;  // what would not be traced, and why
  // The collector's present rate of allocation; unknown if it does not count the bytes.
  std::optional<double> bytes_per_second;
};
// About the share of one processor that the samples of a trace take.
[[nodiscard]] double expected_cost(double bytes_per_second, std::uint64_t every);
// An error is the reason why the process cannot be traced.
Result<TraceFacts> trace_facts(const Request& request, const snapshot::HeapChoice& heap);

}  // namespace heapattach::trace
