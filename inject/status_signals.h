#pragma once

#include <cstdint>
#include <string_view>

#include "attach/process/process.h"

namespace heapattach {

// The mask of signals in a line of /proc/<pid>/status, such as "SigCgt"; 0 if it cannot be read.
[[nodiscard]] std::uint64_t status_signals(const Process& process, std::string_view line);

[[nodiscard]] constexpr bool has_signal(std::uint64_t mask, int signal) {
  return (mask >> (static_cast<unsigned>(signal) - 1) & 1) != 0;
}

}  // namespace heapattach
