#include "report/cli/waiting.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "attach/base/guardian.h"
#include "attach/base/interrupt.h"
#include "attach/base/spare_memory.h"

namespace heapattach {

Result<void> wait_until(std::chrono::steady_clock::time_point until) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kSlice(50);  // how soon an interrupt is noticed
  set_guarded_deadline(until + std::chrono::seconds(1));
  drop_spare_memory();
  for (;;) {
    HA_TRY(check_interrupt());
    const auto now = Clock::now();
    if (now >= until) return {};
    std::this_thread::sleep_for(std::min<Clock::duration>(kSlice, until - now));
  }
}

Deadline without_interrupt(Deadline deadline) {
  deadline.interrupted = []() noexcept { return std::optional<int>(); };
  return deadline;
}

}  // namespace heapattach
