#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "attach/base/interrupt.h"
#include "attach/base/result.h"

namespace heapattach {

// The time limit of the whole run, and whether the user has interrupted it. A plain value, passed
// to everything that takes time. The default is no limit.
struct Deadline {
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::time_point::max();
  // Returns the signal that asked us to exit, if any. Never null.
  std::optional<int> (*interrupted)() noexcept = &interrupted_by;

  // A deadline that passes after `time`. Our guardian, if there is one, uses it from now on.
  static Deadline in(std::chrono::milliseconds time);

  [[nodiscard]] bool has_passed() const { return std::chrono::steady_clock::now() >= at; }
  [[nodiscard]] bool is_interrupted() const { return interrupted().has_value(); }
  // Timeout if the deadline has passed, Interrupted if the user interrupted us. `doing` is for the
  // message.
  [[nodiscard]] Result<void> check(std::string_view doing) const;
};

}  // namespace heapattach
