#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace heapattach::serve {

// How long a process has been stopped in the last minute, in slots of a second.
class PauseBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Span = std::chrono::nanoseconds;

  explicit PauseBudget(Span per_minute) : per_minute_(per_minute) {}

  void spend(Span pause, Time now);
  // The part of the last 60 seconds' budget that is left; never negative.
  [[nodiscard]] Span left(Time now) const;
  // The time until `wanted` is left, or all of the budget if that is smaller.
  [[nodiscard]] std::chrono::seconds wait_for(Span wanted, Time now) const;

 private:
  static constexpr std::int64_t kSlots = 60;
  struct Slot {
    std::int64_t second = -kSlots;
    Span spent{};
  };
  [[nodiscard]] Span left_in_second(std::int64_t second) const;

  Span per_minute_;
  std::array<Slot, kSlots> slots_{};
};

}  // namespace heapattach::serve
