#pragma once

#include "report/collect/wait_reader.h"

namespace heapattach::stacks {

// Adds the results of --stacks about threads and fibers to a snapshot. It observes them only once,
// so a snapshot does not show whether a thread never yields the CPU.
class WaitJoiner final : public snapshot::WaitReader {
 public:
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
};

}  // namespace heapattach::stacks
