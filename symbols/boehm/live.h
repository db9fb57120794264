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
  std::vector<heap::RootRange> ranges;     // modules, fibers, and the stacks of stack_roots
  std::vector<FrozenThread> threads;       // the threads, whose registers are roots
  RootTables tables;                       // from the capture, like everything here
  std::vector<Range> collector_data;       // the result of collector_data(), captured, too
  std::optional<Range> kinds;              // Collector::kinds, captured, too
  std::optional<RemoteAddr> stack_bottom;  // the value of GC_stackbottom at the freeze
  pid_t pid = 0;
  std::uint16_t machine = kOwnProcessor;
};

// The objects that are alive by the collector's rules.
struct LiveSet : heap::LiveSet {
  std::vector<ThreadRecord> records;  // the collector's records of threads
};

// Traces `heap` from `roots` by the collector's rules. Hides those words in the collector's thread
// records that reference free lists, so that they make no edges.
LiveSet find_live(
    heap::Heap& heap, const Capture& capture, Roots roots, const MemoryMap& map, unsigned workers);

}  // namespace heapattach::boehm
