#pragma once

#include <span>
#include <vector>

#include "attach/base/remote_addr.h"
#include "attach/stop/freeze.h"

namespace heapattach::unwind {
struct Stacks;
}

namespace heapattach::snapshot {

class Target;
struct HeldHeap;
struct Snapshot;

// Adds to a snapshot what its threads and fibers wait for. The implementation is in report/stacks.
class WaitReader {
 public:
  virtual ~WaitReader() = default;

  // The memory that the reader needs besides the heap, the roots and the stacks, in any order.
  // Called while the target is held, after the heap was copied.
  [[nodiscard]] virtual std::vector<Range> needs(const Target& target,
                                                 const HeldHeap& held,
                                                 std::span<const FrozenThread> threads) const = 0;

  // Adds the waits. `snapshot` already has its threads and fibers, in the order of `held`.
  virtual void join(const Target& target,
                    const HeldHeap& held,
                    const unwind::Stacks& stacks,
                    Snapshot& snapshot) const = 0;

  // Adds what needs the objects: `snapshot` now also has its objects, edges and roots.
  virtual void join_objects(const Target& target,
                            const HeldHeap& held,
                            Snapshot& snapshot) const = 0;
};

}  // namespace heapattach::snapshot
