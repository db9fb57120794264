#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "attach/interrupt.h"
#include "attach/result.h"

namespace heapattach {

// How long the whole run may last, and whether its user asked it to end. A plain value, passed down
// to whatever takes time.
struct Deadline {
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::time_point::max();
  // Returns the signal that asked us to end, if there was one. Never null.
  std::optional<int> (*interrupted)() noexcept = &interrupted_by;

  // Passes after `time`; from then on our guardian, if there is one, waits for this one.
  static Deadline in(std::chrono::milliseconds time);

  [[nodiscard]] bool has_passed() const { return std::chrono::steady_clock::now() >= at; }
  [[nodiscard]] bool is_interrupted() const { return interrupted().has_value(); }
  // Timeout or Interrupted with what was being done, or nothing.
  [[nodiscard]] Result<void> check(std::string_view doing) const;
};

}  // namespace heapattach
