#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "report/deadline.h"
#include "symbols/elf/module.h"

// What to record of a process.
namespace heapattach::trace {

// How a recording is going, for the line on the terminal.
struct TraceProgress {
  std::chrono::nanoseconds elapsed{};
  std::chrono::nanoseconds length{};  // of the whole recording; 0: until the process exits
  std::uint64_t samples = 0;
  std::uint64_t drops = 0;
  std::uint64_t bytes = 0;  // that the collector has allocated since the start
};

struct TraceOptions {
  pid_t pid = 0;
  std::uint64_t every = std::uint64_t{512} << 10;
  std::chrono::milliseconds length{30'000};
  std::size_t depth = 0;  // innermost frames that are kept; 0: all
  std::optional<std::chrono::milliseconds> max_pause;
  std::string type_info;  // a file; empty: none
  SymbolSearch symbols;
  Deadline deadline;  // of all, the recording included
  // Called for each step with its reason, for -v. May be empty.
  std::function<void(std::string_view)> note;
  // Told of what the user should know at once; what concerns the result is in Header::warnings.
  std::function<void(std::string_view)> warn;
  // Called a few times a second while the recording runs.
  std::function<void(const TraceProgress&)> on_progress;
};

}  // namespace heapattach::trace
