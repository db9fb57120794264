#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/boehm/roots.h"

namespace heapattach::boehm {

// The starting points of a trace, from the capture.
struct Roots {
  std::vector<RootRange> ranges;           // of modules, stacks from stack_roots, fibers
  std::vector<FrozenThread> threads;       // their registers are roots
  RootTables tables;                       // read with the rest
  std::vector<Range> collector_data;       // from collector_data(), captured too
  std::optional<Range> kinds;              // Collector::kinds, captured too
  std::optional<RemoteAddr> stack_bottom;  // the value of GC_stackbottom at the freeze
  pid_t pid = 0;
};

// The live objects of a heap, and the reasons why they are alive.
struct LiveSet {
  ObjectSet live;
  ObjectSet free;                 // on free lists; never live
  std::vector<RootRange> ranges;  // as the collector scans them, with stacks cut to their bounds
  std::vector<ThreadRecord> records;     // of the threads that the collector knows about
  std::vector<FrozenThread> threads;     // their registers were roots
  std::vector<ObjectRef> uncollectable;  // in use
  std::vector<ObjectRef> tables;         // the collector's, for finalizers, types and free lists
  std::vector<CollectorObject> own;      // objects of the collector itself, alive or not
  std::vector<ObjectRef> finalizable;    // alive only because a finalizer waits for them
  std::vector<std::string> problems;     // descriptions of roots that are missing or incomplete
};

// Traces `heap` from `roots` by the collector's rules. Hides the words in the collector's thread
// records that reference free lists, so that they give no edges.
LiveSet find_live(
    Heap& heap, const Capture& capture, Roots roots, const MemoryMap& map, unsigned workers);

}  // namespace heapattach::boehm
