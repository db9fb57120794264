#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "report/collect/held_heap.h"
#include "symbols/heap/joined.h"
#include "symbols/heap/live_set.h"

namespace heapattach::snapshot {

// A copied heap, or two heaps as one, and its live objects. Borrows the copy.
struct TracedHeap {
  std::unique_ptr<const heap::JoinedBlocks> blocks;  // of all heaps; null if there is only one
  std::unique_ptr<const heap::Heap> heap;
  heap::LiveSet found;  // the objects alive by the collector's rules or, without one, by malloc's
  // With two heaps: the reachable allocations of malloc, and the collector's garbage through which
  // they are reached.
  std::optional<heap::LiveSet> beside;
  // An allocation of malloc that only the kernel references. It counts as reachable.
  std::optional<heap::ObjectRef> signal_stack;

  // The objects of the collector that are reachable only from memory that it does not scan. It may
  // free them at any time.
  [[nodiscard]] std::vector<heap::ObjectRef> garbage() const;
  // All objects that are alive, each by the rules of its own heap.
  [[nodiscard]] heap::ObjectSet live() const;
  // `objects` without malloc's, if there is a collector.
  [[nodiscard]] heap::ObjectSet of_collector(const heap::ObjectSet& objects) const;
};

// Traces the copied heaps. Returns Malformed if two heaps contradict each other.
Result<TracedHeap> trace_heap(const Target& target, const HeldHeap& held, const Request& request);

}  // namespace heapattach::snapshot
