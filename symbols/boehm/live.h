#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/boehm/roots.h"

namespace heapattach::boehm {

// Where a trace begins, from the capture.
struct Roots {
  std::vector<RootRange> ranges;           // of modules, stacks from stack_roots, fibers
  std::vector<FrozenThread> threads;       // whose registers are roots
  RootTables tables;                       // read with the rest
  std::vector<Range> collector_data;       // from collector_data(), captured too
  std::optional<Range> kinds;              // Collector::kinds, captured too
  std::optional<RemoteAddr> stack_bottom;  // the value of GC_stackbottom at the freeze
  pid_t pid = 0;
};

// What is alive in a heap, and why.
struct LiveSet {
  ObjectSet live;
  ObjectSet free;                        // on free lists; never live
  std::vector<RootRange> ranges;         // as the collector scans them: stacks cut to their bounds
  std::vector<ThreadRecord> records;     // of the threads that the collector knows
  std::vector<FrozenThread> threads;     // whose registers counted
  std::vector<ObjectRef> uncollectable;  // in use
  std::vector<ObjectRef> tables;         // the collector's, for finalizers, types and free lists
  std::vector<CollectorObject> own;      // objects of the collector itself, alive or not
  std::vector<ObjectRef> finalizable;    // alive only because a finalizer waits for them
  std::vector<std::string> problems;     // roots that should exist but are not all here
};

// Traces `heap` from `roots` by the collector's rules. Hides the words by which the collector's
// thread records reference free lists from the heap's edges.
LiveSet find_live(
    Heap& heap, const Capture& capture, Roots roots, const MemoryMap& map, unsigned workers);

}  // namespace heapattach::boehm
