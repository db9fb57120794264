#pragma once

#include <memory>

#include "report/collect/held_heap.h"
#include "report/collect/take_options.h"
#include "report/collect/wait_reader.h"

namespace heapattach::snapshot {

// The WaitReader to use; null if edges are not kept.
[[nodiscard]] const WaitReader* wait_reader(const TakeOptions& options);

// Holds the target as `options` specify and copies its heap and roots. If the index of the heap is
// inconsistent because the collector was changing it, lets the target run for a few milliseconds
// and tries again, a few times.
Result<std::unique_ptr<HeldHeap>> hold_and_copy(const Target& target, const TakeOptions& options);

// Call it when the heap's contents are no longer needed. Ends the clone, if there is one, and fails
// if the clone died before that. The memory shown by the clone reads as zero from then on.
Result<void> finish_reading(HeldHeap& held, const TakeOptions& options);

}  // namespace heapattach::snapshot
