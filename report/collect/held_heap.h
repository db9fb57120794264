#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "attach/capture.h"
#include "attach/freeze.h"
#include "inject/clone.h"
#include "report/collect/target.h"
#include "symbols/boehm/blocks.h"

namespace heapattach::snapshot {

// What was copied of a target while it was held: everything needed to go on without it. If a heap
// is read in a clone without copying it, that holds only until finish_reading().
struct HeldHeap {
  explicit HeldHeap(Arena arena) : capture(std::move(arena)) {}

  std::optional<Clone> clone;  // whose heap the capture's window shows
  Capture capture;
  boehm::BlockIndex index;
  boehm::Counters counters;
  MemoryMap map;
  boehm::RootTables root_tables;
  std::vector<boehm::RootRange> roots;  // of modules, stacks and suspended fibers
  std::vector<crystal::FiberStack> fibers;
  FreezeReport freeze;
  std::chrono::system_clock::time_point captured;
  // The time of the target's timers then; a core file does not have it.
  std::optional<std::chrono::nanoseconds> monotonic;
  std::optional<SeenMemory> memory;  // which of its memory was resident, if requested
  bool is_held = false;              // false: it ran while it was read; true of a core file
  bool is_clone = false;             // it was held until a clone was made, and that was read
};

// The difference between the blocks of the index and the collector's counters of its heap.
std::uint64_t unaccounted_bytes(const HeldHeap& held);

// What reads waits; null if edges are not kept.
[[nodiscard]] const WaitReader* wait_reader(const TakeOptions& options);

// Holds the target as `options` say and copies its heap and roots. If the index of the heap is
// inconsistent, because the collector was at work on it, the target runs on for some milliseconds
// and is held again, a few times.
Result<std::unique_ptr<HeldHeap>> hold_and_copy(const Target& target, const TakeOptions& options);

// Call it when none of the heap's contents is needed any more: ends the clone, if there is one, and
// reports an error if it did not live that long. The memory that it showed is zero from then on.
Result<void> finish_reading(HeldHeap& held, const TakeOptions& options);

}  // namespace heapattach::snapshot
