#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "attach/process/process.h"
#include "attach/process/thread_activity.h"
#include "attach/stop/freeze.h"

namespace heapattach::stacks {

// The fraction of the time between two observations during which a thread ran or waited for a
// processor, not counting `pause`, when it was stopped. None if the observations are too close
// together.
[[nodiscard]] std::optional<double> load_between(const ThreadActivity& before,
                                                 const ThreadActivity& after,
                                                 std::chrono::nanoseconds pause);

// The activity of one thread; null if it is not in the list.
[[nodiscard]] const ThreadActivity* activity_of(std::span<const ThreadActivity> all, pid_t tid);

// The threads after a freeze.
struct ObservedLoad {
  std::vector<ThreadActivity> after;
  std::set<pid_t> busy;  // threads that ran, or waited for a processor, at every look
};

// Looks several times which threads run, long enough apart to find one that never gives up its
// processor: about a tenth of a second, unless no thread ran before the freeze and during it.
[[nodiscard]] ObservedLoad observe_load(const Process& process,
                                        std::span<const ThreadActivity> before,
                                        std::span<const FrozenThread> threads);

}  // namespace heapattach::stacks
