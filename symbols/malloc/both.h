#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/stop/freeze.h"
#include "symbols/heap/live_set.h"
#include "symbols/malloc/heap.h"

// A process with a collector and with malloc: two heaps read as one, so that a path may lead from
// an object of the collector into malloc's memory and back.
//
// Each heap keeps its own rule of what is alive:
//   - The collector's objects are alive if the collector says so. It does not look into malloc's
//     memory unless the program has registered a part of it, so a reference there keeps nothing.
//   - An allocation of malloc is reachable if any private memory leads to it: roots as in live.h,
//     and every word of a live object of the collector, whether the collector scans that word or
//     not. The way may also lead through an object that only malloc's memory references: the
//     collector will free it, but until then the program can use it.
// An allocation that only garbage references is leaked, as nobody will free it: what still has to
// be finalized is alive for the collector. Objects with a disclaim procedure, which may free what
// they reference, count as alive here until they are reused.
namespace heapattach::glibc {

// The blocks of both heaps.
struct BothBlocks {
  heap::BlockIndex index;                   // has only `blocks`
  std::vector<std::uint32_t> of_collector;  // for each of the collector's blocks its place there
};

// Malformed if an allocation lies in a block of the collector.
Result<BothBlocks> join_blocks(const heap::BlockIndex& collector, const heap::BlockIndex& malloc);

// The memory of the collector's blocks, in use or free, with neighbours joined, sorted.
std::vector<Range> memory_of(const heap::BlockIndex& collector);

// `range` without the parts in `holes` (sorted, disjoint).
std::vector<Range> without(Range range, std::span<const Range> holes);

// `found` in the collector's heap `from`, as of the heap of both.
heap::LiveSet renumber(heap::LiveSet found,
                       const heap::Heap& from,
                       const heap::Heap& both,
                       const BothBlocks& blocks);

// What is reachable of malloc's memory, and the objects of the collector that only malloc's memory
// and other memory that the collector does not scan lead to. `roots` are those of malloc.
heap::LiveSet find_live_beside(const heap::LiveSet& collector,
                               const heap::Heap& both,
                               const Capture& capture,
                               std::vector<heap::RootRange> roots,
                               std::span<const FrozenThread> threads,
                               unsigned workers);

}  // namespace heapattach::glibc
