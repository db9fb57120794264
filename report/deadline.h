#pragma once

#include <atomic>
#include <chrono>
#include <string_view>

#include "attach/result.h"

namespace heapattach {

// How long the whole run may last, and whether its user asked it to end. A plain value, passed down
// to whatever takes time.
struct Deadline {
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::time_point::max();
  // The signal that asked us to end, 0 while there is none; outlives the deadline. May be null.
  const std::atomic<int>* signal = nullptr;

  [[nodiscard]] bool has_passed() const { return std::chrono::steady_clock::now() >= at; }
  [[nodiscard]] bool is_interrupted() const {
    return signal != nullptr && signal->load(std::memory_order_relaxed) != 0;
  }
  // Timeout or Interrupted with what was being done, or nothing.
  [[nodiscard]] Result<void> check(std::string_view doing) const;
};

}  // namespace heapattach
