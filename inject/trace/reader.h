#pragma once

#include <cstdint>
#include <string>

#include "inject/trace/removal.h"

namespace heapattach::trace {

// What /proc/PID/maps calls the ring.
[[nodiscard]] std::string ring_path();

// When a process began, in ticks since boot; 0 if there is none.
[[nodiscard]] std::uint64_t start_of(std::uint64_t pid);

// The process that reads the ring; 0 if there is none. The kernel shows which processes map it. The
// pid in the target's memory is only where to look first, because the reader has another pid in
// another namespace.
[[nodiscard]] pid_t reader_of(const Process& target, const MemoryMap& map, const Remains& remains);

}  // namespace heapattach::trace
