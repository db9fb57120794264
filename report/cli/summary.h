#pragma once

#include <chrono>
#include <string>

#include "report/model/counts.h"

namespace heapattach {

// The line at the end: "10000012 objects, 534.1 MiB live of 540.7 MiB heap, 12 threads, paused
// 41.2 ms, 1.32 s in all". All includes writing the report.
[[nodiscard]] std::string summary_line(const snapshot::CountTable& table,
                                       const snapshot::Snapshot& snapshot,
                                       std::chrono::nanoseconds in_all);

// The line about how objects were typed, for -v: "typed by header 1.2 MiB, by referrer …, not at
// all 40 bytes".
[[nodiscard]] std::string typed_line(const snapshot::CountTable& table);

}  // namespace heapattach
