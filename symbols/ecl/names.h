#pragma once

#include "symbols/ecl/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::ecl {

// Names the objects of a heap that have no name yet. First come objects that contain their type,
// with their parts; then conses, by the tag of a reference to them; then objects that only parts
// reference. Takes linear time, on one core.
void name_objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names);

}  // namespace heapattach::ecl
