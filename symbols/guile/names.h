#pragma once

#include "symbols/guile/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::guile {

// Names the objects of a heap that have no name yet, in this order: cells with a tag; their parts;
// pairs; and what only parts reference, which is named as their memory. Linear in the heap, on one
// core.
void name_objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

}  // namespace heapattach::guile
