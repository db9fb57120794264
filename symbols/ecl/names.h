#pragma once

#include "symbols/ecl/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::ecl {

// Names the objects of a heap that have no name yet, in this order: parts of objects that carry
// their type, and those objects; conses, by the tag of what references them; and what only parts
// reference. Linear in the heap, on one core.
void name_objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

}  // namespace heapattach::ecl
