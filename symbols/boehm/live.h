#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/arch/processors.h"
#include "symbols/boehm/roots.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/roots.h"

namespace heapattach::boehm {

// The starting points of a trace, from the capture.
struct Roots {
  std::vector<heap::RootRange> ranges;     // of modules, stacks from stack_roots, fibers
  std::vector<FrozenThread> threads;       // their registers are roots
  RootTables tables;                       // read with the rest
  std::vector<Range> collector_data;       // from collector_data(), captured too
  std::optional<Range> kinds;              // Collector::kinds, captured too
  std::optional<RemoteAddr> stack_bottom;  // the value of GC_stackbottom at the freeze
  pid_t pid = 0;
  std::uint16_t machine = kOwnProcessor;
};

// The objects that are alive by the collector's rules.
struct LiveSet : heap::LiveSet {
  std::vector<ThreadRecord> records;  // of the threads that the collector knows about
};

// Traces `heap` from `roots` by the collector's rules. Hides the words in the collector's thread
// records that reference free lists, so that they give no edges.
LiveSet find_live(
    heap::Heap& heap, const Capture& capture, Roots roots, const MemoryMap& map, unsigned workers);

}  // namespace heapattach::boehm
