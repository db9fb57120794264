#pragma once

#include "symbols/mono/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::mono {

// Names the objects of a heap that have no name yet: objects by their classes, and the memory of
// classes' static fields. Takes linear time, on one core.
void name_objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

}  // namespace heapattach::mono
