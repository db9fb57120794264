#pragma once

#include "symbols/guile/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::guile {

// Names the objects of a heap that have no name yet. First come cells with a tag, then their parts,
// then pairs, then objects that only parts reference, which count as the parts' memory. Takes
// linear time, on one core.
void name_objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

}  // namespace heapattach::guile
