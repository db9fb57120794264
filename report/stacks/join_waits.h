#pragma once

#include "report/collect/wait_reader.h"

namespace heapattach::stacks {

// Has a snapshot say of its threads and fibers what --stacks says. It takes one look: whether a
// thread never lets go of its processor is not in a snapshot.
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
