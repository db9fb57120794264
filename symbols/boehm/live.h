#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/boehm/roots.h"

namespace heapattach::boehm {

// Where a trace begins, as captured.
struct Roots {
  std::vector<RootRange> ranges;           // of modules, stacks as stack_roots gave them, fibers
  std::vector<FrozenThread> threads;       // their registers are roots
  RootTables tables;                       // as read with the rest
  std::vector<Range> collector_data;       // as collector_data() gave it, captured too
  std::optional<Range> kinds;              // Collector::kinds, captured too
  std::optional<RemoteAddr> stack_bottom;  // what GC_stackbottom held at the freeze
  pid_t pid = 0;
};

// What is alive in a heap, and why.
struct LiveSet {
  ObjectSet live;
  ObjectSet free;                        // on free lists; never live
  std::vector<RootRange> ranges;         // as the collector scans them: stacks cut to their ends
  std::vector<ThreadRecord> records;     // of the threads that the collector knows
  std::vector<FrozenThread> threads;     // whose registers counted
  std::vector<ObjectRef> uncollectable;  // in use
  std::vector<ObjectRef> tables;         // of the collector, for finalizers, types and free lists
  std::vector<CollectorObject> own;      // objects of the collector itself, alive or not
  std::vector<ObjectRef> finalizable;    // alive only because a finalizer waits for them
  std::vector<std::string> problems;     // roots that there must be and that are not all here
};

// Traces `heap` from `roots` by the collector's rules. Hides from the heap's edges the words by
// which the collector's thread records lead to free lists.
LiveSet find_live(
    Heap& heap, const Capture& capture, Roots roots, const MemoryMap& map, unsigned workers);

}  // namespace heapattach::boehm
