#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/arch/processors.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/boehm/collector.h"
#include "symbols/boehm/root_tables.h"
#include "symbols/boehm/thread_records.h"
#include "symbols/elf/module.h"
#include "symbols/heap/heap.h"
#include "symbols/heap/mark.h"
#include "symbols/heap/root_range.h"

// Finds the memory outside the heap that the collector scans for pointers. Sources: mark_rts.c,
// pthread_stop_world.c (GC_push_all_stacks), pthread_support.h and thread_local_alloc.h of 7.2 to
// 8.3.
namespace heapattach::boehm {

// The static data that the next collection would scan, sorted and disjoint: the areas that the
// program registered, and the writable parts of modules that the collector registers (except parts
// that are read-only after relocation), minus what the collector excludes.
std::vector<heap::RootRange> static_roots(const Modules& modules,
                                          const Collector& collector,
                                          const RootTables& tables);

// All writable memory of the module that contains the collector, including its excluded tables,
// which we need to read.
std::vector<Range> collector_data(const Modules& modules, const Collector& collector);

// The stacks of all threads: from the stack pointer, minus the red zone, to the end of the mapping.
// That is too much (it includes thread-local storage, which is not a root), but nothing better is
// known during the freeze. scan_stacks() refines it after the thaw.
std::vector<heap::RootRange> stack_roots(std::span<const FrozenThread> threads,
                                         const MemoryMap& map,
                                         std::uint16_t machine = kOwnProcessor);

// Describes, in a few sentences at most, the parts of `roots` that were not copied. A module that
// has disappeared was closed after it was listed, and does not count as missing; a registered area
// (one of `areas`) does.
std::vector<std::string> unread_roots(std::span<const heap::RootRange> roots,
                                      std::span<const RootArea> areas,
                                      const Capture& capture);

// Objects on free lists, both the global ones and those of threads. Global list heads are found in
// the collector's data by content: a pointer to an array whose entry number g is 0 or points to an
// object of exactly g granules, all of one kind. Objects on lists that were not found are not
// included.
heap::ObjectSet find_free_objects(const heap::Heap& heap,
                                  const Capture& capture,
                                  std::span<const Range> collector_data,
                                  std::span<const ThreadRecord> records);

// Objects of the uncollectable kinds that are in use. A slot of such a block is in use if its mark
// is set and it is on no free list (mark.c, GC_push_marked, and malloc.c, GC_malloc_uncollectable).
// If the marks cannot be found in the headers, it is in use if it does not look free.
std::vector<heap::ObjectRef> uncollectable_objects(const heap::Heap& heap,
                                                   const heap::ObjectSet& free);

// An object that the collector allocated for itself.
struct CollectorObject {
  enum class What : std::uint8_t {
    FinalizerTable,
    LinkTable,
    Finalizer,
    Link,  // a link that disappears with the object that it references
    Descriptors,
    FreeLists,
    ThreadRecord,
  };
  heap::ObjectRef ref;
  What what = What::FinalizerTable;
};

// The objects that the collector retains although only tables that are not roots reference them
// (GC_push_finalizer_structures in finalize.c, GC_push_typed_structures in typd_mlc.c).
struct CollectorObjects {
  // Tables of finalizers and of disappearing links, finalizers that are due, descriptors of typed
  // objects. Roots, with everything that they reference.
  std::vector<heap::ObjectRef> tables;
  // Objects with finalizers, and the objects referenced by objects with disclaim procedures. They
  // and everything that they reference are retained until those procedures have run. Includes
  // objects that are alive anyway.
  std::vector<heap::ObjectRef> finalizable;
  // The tables, and their entries, which are alive only if something references them.
  std::vector<CollectorObject> own;
};

// Finds all of these by content, starting from the collector's data. An entry for a finalizer
// contains the complement of an object's address and, four words on, the object's size. An entry
// that is due contains the address itself. An entry for a link contains the complements of the
// link's and the object's addresses. An empty table is not found, but retains only itself.
CollectorObjects find_collector_objects(const heap::Heap& heap,
                                        const Capture& capture,
                                        std::span<const Range> collector_data);

}  // namespace heapattach::boehm
