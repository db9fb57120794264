#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attach/stop/freeze.h"
#include "symbols/heap/live_set.h"

// Several heaps of a process as one, so that a path may lead from an object of a collector into
// malloc's memory and back.
//
// Each heap keeps its own rule of what is alive:
//   - A collector's objects are alive if the collector says so. It does not look into malloc's
//     memory unless the program has registered a part of it, so a reference there keeps nothing.
//   - An allocation is reachable if any private memory references it, directly or not: the roots of
//     by_hand.h, and every word of a live object of the collector, whether the collector scans that
//     word or not. The path may also lead through an object that only allocations reference: the
//     collector will free it, but until then the program can use it.
// An allocation that only garbage references is leaked, as nobody will free it: what still has to
// be finalized is alive for the collector. Objects with a disclaim procedure, which may free what
// they reference, count as alive here until they are reused.
namespace heapattach::heap {

// One of the heaps to join.
struct Part {
  std::string_view whose;  // "malloc's"
  const BlockIndex* index = nullptr;
};

// The blocks of all heaps, each with its heap's number.
struct JoinedBlocks {
  BlockIndex index;                                // has only `blocks`
  std::vector<std::vector<std::uint32_t>> places;  // for each block of each heap its place there
};

// Malformed if heaps overlap.
Result<JoinedBlocks> join_blocks(std::span<const Part> parts);

// The memory of a collector's blocks, in use or free, with neighbours joined, sorted.
std::vector<Range> memory_of(const BlockIndex& index);

// `found` in the heap `from`, as of the heap of all. `places` are those of its blocks.
LiveSet renumber(LiveSet found,
                 const Heap& from,
                 const Heap& all,
                 std::span<const std::uint32_t> places);

// What is reachable of the allocations, and the objects of the collector that only allocations and
// other memory that the collector does not scan reference. `roots` are those of the allocations.
LiveSet find_live_beside(const LiveSet& collector,
                         const Heap& all,
                         const Capture& capture,
                         std::vector<RootRange> roots,
                         std::span<const FrozenThread> threads,
                         unsigned workers);

}  // namespace heapattach::heap
