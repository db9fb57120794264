#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "attach/process/thread_activity.h"
#include "report/collect/wait_reader.h"
#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

// Adds the results of --stacks about threads and fibers to a snapshot. It observes them only once,
// so a snapshot does not show whether a thread never yields the CPU.
class WaitJoiner final : public snapshot::WaitReader {
 public:
  WaitJoiner() = default;
  // Observes them again after the freeze, and so finds threads that never yield the CPU: `before`
  // is an observation from before it. Passes its report on stacks to `on_report`.
  WaitJoiner(std::vector<ThreadActivity> before, std::function<void(const StackReport&)> on_report)
      : before_(std::move(before)), on_report_(std::move(on_report)) {}

  [[nodiscard]] std::vector<Range> needs(const snapshot::Target& target,
                                         const snapshot::HeldHeap& held,
                                         std::span<const FrozenThread> threads) const override;
  void join(const snapshot::Target& target,
            const snapshot::HeldHeap& held,
            const unwind::Stacks& stacks,
            snapshot::Snapshot& snapshot) const override;
  // Finds the fibers that nothing can wake any more. Only the whole heap shows them.
  void join_objects(const snapshot::Target& target,
                    const snapshot::HeldHeap& held,
                    snapshot::Snapshot& snapshot) const override;

 private:
  std::vector<ThreadActivity> before_;
  std::function<void(const StackReport&)> on_report_;
};

}  // namespace heapattach::stacks
