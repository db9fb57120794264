#pragma once

#include "symbols/ecl/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::ecl {

// Names the objects of a heap that have no name yet: first objects that contain their type, with
// their parts; then conses, by the tag of what references them; then objects referenced only by
// parts. Takes linear time, on one core.
void name_objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

}  // namespace heapattach::ecl
