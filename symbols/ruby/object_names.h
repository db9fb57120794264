#pragma once

#include "symbols/ruby/heap_pages.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::ruby {

// A heap as it was copied.
struct NamedHeap {
  const Machine& machine;
  const HeapCopy& copy;
  const MemoryReader& outside;  // for memory that was not copied
};

// Names the objects of `from` in a heap with malloc's allocations: an object after its class, with
// the variables and members in its slot, and the allocation that it owns as its "(text of String)".
void name_objects(const NamedHeap& from,
                  const runtimes::HeapView& view,
                  runtimes::ObjectNames& names);

}  // namespace heapattach::ruby
