#pragma once

#include "report/collect/frame_finder.h"
#include "report/collect/held_heap.h"
#include "report/collect/traced_heap.h"
#include "report/typing/object_order.h"

namespace heapattach::snapshot {

// The sources of a snapshot's roots.
struct RootSources {
  const Target& target;
  const HeldHeap& held;
  const TracedHeap& traced;
  const ObjectOrder& order;
  const FrameFinder& frames;
};

// Fills the roots: each root word that points into a listed object, with the word's location and
// owner, and the objects that the collector always keeps alive. With two heaps, an object has the
// roots that count for its own heap.
void join_roots(const RootSources& from, Snapshot& snapshot);

}  // namespace heapattach::snapshot
