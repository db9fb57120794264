#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "report/collect/held_heap.h"
#include "report/collect/take_options.h"
#include "report/collect/target.h"
#include "report/model/model.h"

namespace heapattach::snapshot {

// Fills the header: the process, the time, how the process was held, and the collector's own
// counters.
void fill_header(const Target& target,
                 const HeldHeap& held,
                 const TakeOptions& options,
                 Snapshot& snapshot);

// Fills the part that does not depend on a heap: the process, and the machine if it is live.
void fill_origin(const Opened& opened, Header& header);

// The time when the process was started, in the format of the header; empty if unknown.
[[nodiscard]] std::string start_time(const Process& process);

// A time in the format of the header: RFC 3339, UTC, with milliseconds.
[[nodiscard]] std::string moment_text(std::chrono::system_clock::time_point at);

}  // namespace heapattach::snapshot
