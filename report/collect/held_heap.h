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

  std::optional<Clone> clone;  // the capture's window shows its heap
  Capture capture;
  std::vector<heap::Contents> heaps;  // as Target::heaps
  PrivateMemory private_memory;       // if all of it was copied
  MemoryMap map;
  std::vector<heap::RootRange> roots;  // of a collector: modules, stacks and suspended fibers
  std::vector<heap::RootRange> roots_by_hand;  // of the heaps that the program frees by hand
  std::vector<crystal::FiberStack> fibers;
  std::optional<SeenMemory> memory;  // the resident parts of its memory, if requested
  OtherReferences others;            // if all private memory was copied
};

// The difference between the blocks in the index and the collector's own counters.
std::uint64_t unaccounted_bytes(const HeldHeap& held);

// The copy, as the readers of heaps see it. Borrows everything.
heap::Copied copied_of(const Target& target, const HeldHeap& held, const Request& request);

// Reads the heaps from the copy, with the roots of those that the program frees by hand. Call it
// when the target runs again.
Result<void> read_heaps(const Target& target, const Request& request, HeldHeap& held);

}  // namespace heapattach::snapshot
