#include "report/stacks/thread_load.h"

#include <algorithm>

namespace heapattach::stacks {

std::optional<double> load_between(const ThreadActivity& before,
                                   const ThreadActivity& after,
                                   std::chrono::nanoseconds pause) {
  constexpr auto kLeast = std::chrono::milliseconds(100);
  const std::chrono::nanoseconds time = after.seen - before.seen - pause;
  if (time < kLeast) return {};
  const auto wanted = after.time.wanted() - before.time.wanted();
  return std::min(1.0, static_cast<double>(wanted.count()) / static_cast<double>(time.count()));
}

}  // namespace heapattach::stacks
