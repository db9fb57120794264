#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/memory/capture.h"
#include "report/collect/hold.h"
#include "report/collect/memory_account.h"
#include "report/collect/target.h"
#include "report/collect/wait_reader.h"
#include "report/parallel.h"
#include "symbols/heap/blocks.h"
#include "symbols/malloc/heap.h"

namespace heapattach::snapshot {

// Which memory of a process is copied to read its heap of malloc.
struct MallocCopy {
  std::vector<Range> ranges;   // sorted
  std::vector<Range> touched;  // the parts of them that have contents, sorted; the rest is zero
  std::vector<Range> written;  // those in mappings that may not be written to any more
  std::vector<std::string> unread;  // what was left out, and why
};

// Everything that was copied from a target while it was held, so that the target is no longer
// needed. If the heap is read from a clone without copying it, the contents are valid only until
// finish_reading().
struct HeldHeap : Holding {
  explicit HeldHeap(Arena arena) : capture(std::move(arena)) {}

  std::optional<Clone> clone;  // the capture's window shows its heap
  // With a clone: each access to memory that is not here stops all threads for a moment, to change
  // the window.
  std::optional<WithOneWorker> alone;
  Capture capture;
  heap::BlockIndex index;
  boehm::Counters counters;
  // Malloc's heap: instead of a collector's, and then without its index, which is above; or beside
  // it.
  std::optional<glibc::Heap> malloc;
  MallocCopy malloc_copy;
  std::vector<heap::RootRange> malloc_roots;  // of malloc's heap beside a collector's
  MemoryMap map;
  boehm::RootTables root_tables;
  std::vector<heap::RootRange> roots;  // of modules, stacks and suspended fibers
  std::vector<crystal::FiberStack> fibers;
  std::optional<SeenMemory> memory;  // the resident parts of its memory, if requested
};

// The difference between the blocks in the index and the collector's own counters.
std::uint64_t unaccounted_bytes(const HeldHeap& held);

// The WaitReader to use; null if edges are not kept.
[[nodiscard]] const WaitReader* wait_reader(const TakeOptions& options);

// Holds the target as `options` say and copies its heap and roots. If the index of the heap is
// inconsistent because the collector was changing it, lets the target run for a few milliseconds
// and tries again, a few times.
Result<std::unique_ptr<HeldHeap>> hold_and_copy(const Target& target, const TakeOptions& options);

// Call it when the heap's contents are no longer needed. Ends the clone, if there is one, and fails
// if the clone died before that. The memory shown by the clone reads as zero from then on.
Result<void> finish_reading(HeldHeap& held, const TakeOptions& options);

}  // namespace heapattach::snapshot
