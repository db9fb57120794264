#pragma once

#include "report/collect/wait_reader.h"

namespace heapattach::stacks {

// Adds to a snapshot what --stacks says about threads and fibers. It observes them only once, so a
// snapshot does not show whether a thread never lets go of its processor.
class WaitJoiner final : public snapshot::WaitReader {
 public:
  [[nodiscard]] std::vector<Range> needs(const snapshot::Target& target,
                                         const snapshot::HeldHeap& held,
                                         std::span<const FrozenThread> threads) const override;
  void join(const snapshot::Target& target,
            const snapshot::HeldHeap& held,
            const unwind::Stacks& stacks,
            snapshot::Snapshot& snapshot) const override;
};

}  // namespace heapattach::stacks
