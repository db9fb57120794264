#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/memory/capture.h"
#include "report/collect/hold.h"
#include "report/collect/memory_account.h"
#include "report/collect/target.h"
#include "report/collect/wait_reader.h"
#include "symbols/heap/source.h"

namespace heapattach::snapshot {

// The memory of a process that is copied to find the heaps that the program frees by hand.
struct PrivateMemory {
  std::vector<Range> ranges;   // sorted
  std::vector<Range> touched;  // the parts of them that have contents, sorted; the rest is zero
  std::vector<Range> written;  // the parts in mappings that are no longer writable
  std::vector<std::string> unread;  // descriptions of omitted parts, with the reasons
};

// Everything that was copied from a target while it was held, so that the target is no longer
// needed. If the heap is read from a clone without copying it, the contents are valid only until
// finish_reading().
struct HeldHeap : Holding {
  explicit HeldHeap(Arena arena) : capture(std::move(arena)), heaps(1) {}

  // The index of the process's own heap, which is the first.
  [[nodiscard]] const heap::BlockIndex& index() const { return heaps.front().index; }
  [[nodiscard]] const heap::Counters& counters() const { return heaps.front().counters; }

  std::optional<Clone> clone;  // the capture's window shows its heap
  Capture capture;
  std::vector<heap::Contents> heaps;  // as Target::heaps
  PrivateMemory private_memory;       // if all of it was copied
  MemoryMap map;
  std::vector<heap::RootRange> roots;  // of a collector: modules, stacks and suspended fibers
  std::vector<heap::RootRange> roots_by_hand;  // of the heaps that the program frees by hand
  std::vector<crystal::FiberStack> fibers;
  std::optional<SeenMemory> memory;  // the resident parts of its memory, if requested
};

// The difference between the blocks in the index and the collector's own counters.
std::uint64_t unaccounted_bytes(const HeldHeap& held);

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
