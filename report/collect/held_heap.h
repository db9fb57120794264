#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/memory/capture.h"
#include "report/collect/hold.h"
#include "report/collect/memory_account.h"
#include "report/collect/other_references.h"
#include "report/collect/private_memory.h"
#include "report/collect/target.h"
#include "symbols/heap/source.h"

namespace heapattach::snapshot {

// Everything that was copied from a target while it was held, so that the target is no longer
// needed. If the heap is read from a clone without copying it, the contents are valid only until
// finish_reading().
struct HeldHeap : Holding {
  explicit HeldHeap(Arena arena) : capture(std::move(arena)), heaps(1) {}

  // The index of the process's own heap, which is the first.
  [[nodiscard]] const heap::BlockIndex& index() const { return heaps.front().index; }
  [[nodiscard]] const heap::Counters& counters() const { return heaps.front().counters; }

  std::optional<Clone> clone;  // the clone whose heap the capture's window shows
  Capture capture;
  std::vector<heap::Contents> heaps;  // in the order of Target::heaps
  PrivateMemory private_memory;       // filled if all private memory was copied
  MemoryMap map;
  std::vector<heap::RootRange> roots;  // for a collector: modules, stacks and suspended fibers
  std::vector<heap::RootRange> roots_by_hand;  // for the heaps that the program frees by hand
  std::vector<crystal::FiberStack> fibers;
  std::optional<SeenMemory> memory;  // the resident parts of its memory, if requested
  OtherReferences others;            // filled if all private memory was copied
};

// The difference between the blocks in the index and the collector's own counters.
std::uint64_t unaccounted_bytes(const HeldHeap& held);

// Describes the copy to the readers of heaps. Borrows everything.
heap::Copied copied_of(const Target& target, const HeldHeap& held, const Request& request);

// Reads the heaps from the copy, and finds the roots of the heaps that the program frees by hand.
// Call this when the target runs again.
Result<void> read_heaps(const Target& target, const Request& request, HeldHeap& held);

}  // namespace heapattach::snapshot
