#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "inject/trace/removal.h"

namespace heapattach::trace {

// The ring's name in /proc/PID/maps.
[[nodiscard]] std::string ring_path();

// When a process began, in ticks since boot; 0 if there is none.
[[nodiscard]] std::uint64_t start_of(std::uint64_t pid);

// The limits of the search for a reader. Anybody may have processes with our name and with long
// maps; the maps of heapattach are short.
struct ReaderSearch {
  std::size_t maps_bytes = std::size_t{2} << 20;  // for one process
  std::size_t all_bytes = std::size_t{16} << 20;
  std::chrono::milliseconds time{500};
};

// The process that reads the ring; 0 if there is none. The kernel shows which processes map the
// ring. The pid in the target's memory is only the first one that we try, because in our namespace
// the reader may have another pid.
[[nodiscard]] pid_t reader_of(const Process& target,
                              const MemoryMap& map,
                              const Remains& remains,
                              const ReaderSearch& search = {});

}  // namespace heapattach::trace
