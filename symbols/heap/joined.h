#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/stop/freeze.h"
#include "symbols/heap/kind.h"
#include "symbols/heap/live_set.h"

// Several heaps of a process as one, so that a path may go from an object of a collector into
// malloc's memory and back.
//
// Each heap keeps its own rule of what is alive:
//   - A collector's objects are alive if the collector says so. It does not scan malloc's memory
//     unless the program has registered a part of it, so a reference there keeps nothing alive.
//   - An allocation is reachable if any private memory references it, directly or not: the roots of
//     by_hand.h, and every word of a live object of the collector, whether the collector scans that
//     word or not. The path may also go through an object that only allocations reference: the
//     collector will free it, but until then the program can use it.
// An allocation that only garbage references is leaked, because nobody will free it: an object that
// still has to be finalized is alive for the collector. Objects with a disclaim procedure, which
// may free what they reference, count as alive here until they are reused.
namespace heapattach::heap {

// One of the heaps to join.
struct Part {
  const Kind* kind = nullptr;
  const BlockIndex* index = nullptr;
  SlotSizes sizes = {};
};
inline constexpr std::size_t kMostJoined = 8;

// The blocks of all heaps, each with its heap's number.
struct JoinedBlocks {
  BlockIndex index;                                // has only `blocks` and `sizes`
  std::vector<std::vector<std::uint32_t>> places;  // by heap: the new places of its blocks
};

// Malformed if heaps overlap.
Result<JoinedBlocks> join_blocks(std::span<const Part> parts);

// The memory of a collector's blocks, in use or free, with neighbours joined, sorted.
std::vector<Range> memory_of(const BlockIndex& index);

// Translates `found` from the heap `from` to the joined heap. `places` has the new places of the
// blocks.
LiveSet renumber(LiveSet found,
                 const Heap& from,
                 const Heap& all,
                 std::span<const std::uint32_t> places);

// Finds the reachable allocations, and the collector's objects that are referenced only by memory
// that the collector does not scan, such as allocations. `roots` are the roots of the allocations.
LiveSet find_live_beside(const LiveSet& collector,
                         const Heap& all,
                         const Capture& capture,
                         std::vector<RootRange> roots,
                         std::span<const FrozenThread> threads,
                         unsigned workers);

}  // namespace heapattach::heap
