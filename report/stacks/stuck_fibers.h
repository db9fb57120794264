#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/model/model.h"

namespace heapattach::stacks {

// The fibers of `waiting` (numbers in Snapshot::fibers) that nothing can wake any more. Each waits
// without a limit for the object in its wait, and only somebody with a reference to that object can
// wake it. A fiber is stuck if its object is reachable only from the stacks of fibers that are
// stuck themselves. What a fiber's block references does not count, because the fiber has begun and
// nobody begins it again: `block_word` is the word of a Fiber that references that, if it is known.
// The snapshot has its edges and all roots.
[[nodiscard]] std::vector<std::size_t> stuck_fibers(const snapshot::Snapshot& snapshot,
                                                    std::span<const std::size_t> waiting,
                                                    std::optional<std::uint32_t> block_word);

// Adds a finding about them, if there are any.
void add_stuck_fibers(snapshot::Snapshot& snapshot, std::span<const std::size_t> stuck);

}  // namespace heapattach::stacks
