#pragma once

#include <cstdint>
#include <span>

#include "symbols/boehm/live.h"
#include "symbols/boehm/mark_bits.h"
#include "symbols/heap/live_set.h"

namespace heapattach::boehm {

// Objects that the last collection marked and that the program may have dropped since then,
// although it has allocated nothing. These are the objects that are reachable from
//   - the entries of finalizers that have run. Such an entry still references its object, has no
//     data any more, and is in no chain (finalize.c, GC_invoke_finalizers);
//   - `stale` words: the unused parts of stacks, some of which the collection scanned because it
//     was called from deeper frames.
heap::ObjectSet dropped_since_collection(const heap::Heap& heap,
                                         const heap::LiveSet& found,
                                         std::span<const heap::RootWords> stale,
                                         unsigned workers);

// The number of marked objects, in the sampled blocks, that are missing from the live set without a
// known reason. Known reasons: the object is in `dropped`, or was on a thread's own free list. A
// collection marks these lists, and does not count allocations from them (thread_local_alloc.c).
// Such a list has at most a block of objects of one size. With `possible`, counts only objects in
// that set.
std::uint64_t count_unexplained(const heap::Heap& heap,
                                const heap::LiveSet& found,
                                const heap::ObjectSet& dropped,
                                const heap::ObjectSet* possible = nullptr);

// Whether no object of the heap, alive or not, has a mark procedure of the program. Such a
// procedure could find pointers that the program has hidden.
bool has_plain_pointers(const heap::Heap& heap);

// The objects that something unseen could have kept alive: a root in `memory`, which contains all
// references from outside the heap; an object that we took for a free one; an uncollectable object;
// or a finalizer or a link, which hide their pointers.
heap::ObjectSet reachable_from(const heap::Heap& heap,
                               const heap::LiveSet& found,
                               std::span<const heap::RootWords> memory,
                               unsigned workers);

}  // namespace heapattach::boehm
