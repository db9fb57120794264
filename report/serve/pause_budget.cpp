#include "report/serve/pause_budget.h"

#include <algorithm>

namespace heapattach::serve {

namespace {

std::int64_t second_of(PauseBudget::Time time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

void PauseBudget::spend(Span pause, Time now) {
  const std::int64_t second = second_of(now);
  Slot& slot = slots_[static_cast<std::size_t>(second % kSlots)];
  if (slot.second != second) slot = {second, {}};
  slot.spent += pause;
}

PauseBudget::Span PauseBudget::left_in_second(std::int64_t second) const {
  Span left = per_minute_;
  for (const Slot& slot : slots_) {
    if (slot.second > second - kSlots) left -= slot.spent;
  }
  return std::max(left, Span::zero());
}

PauseBudget::Span PauseBudget::left(Time now) const {
  return left_in_second(second_of(now));
}

std::chrono::seconds PauseBudget::wait_for(Span wanted, Time now) const {
  const Span needed = std::min(wanted, per_minute_);
  const std::int64_t second = second_of(now);
  std::int64_t wait = 0;
  while (wait < kSlots && left_in_second(second + wait) < needed) ++wait;
  return std::chrono::seconds(wait);
}

}  // namespace heapattach::serve
