#include "report/stacks/thread_load.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace heapattach::stacks {

namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(12);
constexpr int kLooks = 10;

}  // namespace

const ThreadActivity* activity_of(std::span<const ThreadActivity> all, pid_t tid) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [tid](const ThreadActivity& one) { return one.tid == tid; });
  return found == all.end() ? nullptr : &*found;
}

ObservedLoad observe_load(const Process& process,
                          std::span<const ThreadActivity> before,
                          std::span<const FrozenThread> threads) {
  ObservedLoad load;
  for (const FrozenThread& thread : threads) {
    if (thread.state != 'R') continue;
    const ThreadActivity* const seen = activity_of(before, thread.tid);
    if (seen != nullptr && seen->state == 'R') load.busy.insert(thread.tid);
  }
  // After a long freeze, the looks would otherwise be in the past.
  const auto begin = std::chrono::steady_clock::now();
  for (int look = 1; look <= kLooks && !load.busy.empty(); ++look) {
    std::this_thread::sleep_until(begin + look * kLookInterval);
    std::erase_if(load.busy, [&](pid_t tid) {
      const auto state = process.thread_state(tid);
      return !state || state->state != 'R';
    });
  }
  if (auto seen = observe_activity(process)) load.after = std::move(*seen);
  return load;
}

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
