#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/freeze.h"
#include "attach/memory_map.h"
#include "symbols/boehm/collector.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/mark.h"
#include "symbols/boehm/root_range.h"
#include "symbols/boehm/root_tables.h"
#include "symbols/boehm/thread_records.h"
#include "symbols/elf/module.h"

// Where the collector looks for pointers besides the heap. Facts: mark_rts.c, pthread_stop_world.c
// (GC_push_all_stacks), pthread_support.h and thread_local_alloc.h of 7.2 to 8.3.
namespace heapattach::boehm {

// What the next collection would scan of static data, sorted and disjoint: the areas that the
// program registered, and the writable parts of modules less what is read-only after relocation,
// as far as the collector registers them; all of it less what it excludes.
std::vector<RootRange> static_roots(const Modules& modules,
                                    const Collector& collector,
                                    const RootTables& tables);

// All writable memory of the module that holds the collector, its excluded tables too: what must be
// copied to understand them.
std::vector<Range> collector_data(const Modules& modules, const Collector& collector);

// The stacks of all threads: from the stack pointer, less the red zone, to the end of its mapping.
// That is too much (thread-local storage lies there, which is no root) but all that can be known
// while there is no time to look; scan_stacks follows after the thaw.
std::vector<RootRange> stack_roots(std::span<const FrozenThread> threads, const MemoryMap& map);

// Says what of `roots` was not copied, in at most a few sentences. A module that is gone altogether
// was closed after it was seen, and is not missing; a registered area (of `areas`) is.
std::vector<std::string> unread_roots(std::span<const RootRange> roots,
                                      std::span<const RootArea> areas,
                                      const Capture& capture);

// What to copy for `roots` and `more`: sorted, disjoint, whole words, readable, and without what
// `heap` (sorted, disjoint) covers.
std::vector<Range> plan_copy(std::span<const RootRange> roots,
                             std::span<const Range> more,
                             std::span<const Range> heap,
                             const MemoryMap& map);

// Objects on free lists, the global ones and those of threads. Global list heads are found in the
// collector's data by content: a pointer to an array whose entry number g is 0 or leads to an
// object of exactly g granules, all of one kind. Objects on lists that could not be found are
// not in it.
ObjectSet find_free_objects(const Heap& heap,
                            const Capture& capture,
                            std::span<const Range> collector_data,
                            std::span<const ThreadRecord> records);

// Objects of the uncollectable kinds that are in use. A place of such a block is in use if its mark
// is set and it is on no free list (mark.c, GC_push_marked, and malloc.c, GC_malloc_uncollectable);
// where the marks cannot be found in the headers, if it does not look as a free one does.
std::vector<ObjectRef> uncollectable_objects(const Heap& heap, const ObjectSet& free);

// An object that the collector made for itself.
struct CollectorObject {
  enum class What : std::uint8_t {
    FinalizerTable,
    LinkTable,
    Finalizer,
    Link,  // that disappears with what it leads to
    Descriptors,
    FreeLists,
    ThreadRecord,
  };
  ObjectRef ref;
  What what = What::FinalizerTable;
};

// What the collector keeps although it is referred to only by tables of its own that are no roots
// (GC_push_finalizer_structures in finalize.c, GC_push_typed_structures in typd_mlc.c).
struct CollectorObjects {
  // Tables of finalizers and of disappearing links, finalizers that are due, descriptors of typed
  // objects. Roots, with all that they lead to.
  std::vector<ObjectRef> tables;
  // Objects with finalizers, and what objects with disclaim procedures refer to. All they refer to
  // is kept until these have run, and with it the objects themselves. Those that are alive anyway
  // are listed too.
  std::vector<ObjectRef> finalizable;
  // The tables, and their entries, which are alive only if something leads to them.
  std::vector<CollectorObject> own;
};

// All of it is found through the collector's data by content. An entry for a finalizer holds the
// complement of an object's address, and four words on that object's size; one whose turn has come
// holds the address itself; one for a link the complements of the link's address and of the
// object's. A table that is empty is not found, and holds nothing but itself.
CollectorObjects find_collector_objects(const Heap& heap,
                                        const Capture& capture,
                                        std::span<const Range> collector_data);

// What an object is that tracing did not reach. Whoever is on a free list is free. Besides there
// are places that were free before the last collection and have not been swept since: they are on
// no list. They look like free objects (their first word is 0 or leads to the same kind of place,
// and the rest is 0 where the collector clears objects), but so does an object that was made and
// dropped without ever being written; that one is called free here.
enum class Liveness : std::uint8_t { Live, Unreachable, Free };
Liveness liveness(const Heap& heap, const ObjectSet& live, const ObjectSet& free, ObjectRef ref);

// The copied words of `roots`, of which each may be in several pieces: the heap's blocks among it
// were copied by themselves.
std::vector<RootWords> root_words(std::span<const RootRange> roots, const Capture& capture);

// Calls visit(root, address, target) for each word of `roots` that points into an object.
template <class Visit>
void for_each_root(const Heap& heap,
                   const Capture& capture,
                   std::span<const RootRange> roots,
                   const Visit& visit) {
  for (const RootRange& root : roots) {
    for (const RootWords& words : root_words({&root, 1}, capture)) {
      for (std::size_t i = 0; i + 8 <= words.bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, words.bytes.data() + i, sizeof word);
        if (const auto to = heap.resolve(word, words.from)) visit(root, words.at + i, *to);
      }
    }
  }
}

}  // namespace heapattach::boehm
